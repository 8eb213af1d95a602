//! UDP and TCP compared: a path may serve one of them before the other.

use caudal_core::quality::{DelayIncrease, ProbeKind, ProtocolIncreases};

/// Minimum difference of the median increases of two protocols for the path to serve one first, µs: the limit of grade A+.
const APART_US: f64 = 5_000.0;

/// Maximum share of the later one's increase that the one served first may have.
const APART_SHARE: f64 = 0.5;

/// Minimum number of round trips of each under load to compare.
const MIN_TRIPS: usize = 10;

/// The same without load, where they vary less.
const MIN_IDLE_TRIPS: usize = 3;

/// Round-trip times of one phase, µs.
#[derive(Debug, Clone, Default)]
pub(super) struct ProtocolTrips {
    /// Of UDP echo.
    pub udp: Vec<f64>,
    /// Of TCP echo.
    pub tcp: Vec<f64>,
    /// Of the handshakes of new TCP connections.
    pub handshake: Vec<f64>,
}

/// The increases of both protocols from an idle phase to one with load.
pub(super) fn protocol_increases(
    idle: &ProtocolTrips,
    loaded: &ProtocolTrips,
) -> ProtocolIncreases {
    let enough = |trips: fn(&ProtocolTrips) -> &Vec<f64>| {
        trips(idle).len() >= MIN_IDLE_TRIPS && trips(loaded).len() >= MIN_TRIPS
    };
    let udp = DelayIncrease::above(&idle.udp, &loaded.udp);
    let tcp = DelayIncrease::above(&idle.tcp, &loaded.tcp);
    let handshake = DelayIncrease::above(&idle.handshake, &loaded.handshake);
    let (has_udp, has_tcp) = (enough(|one| &one.udp), enough(|one| &one.tcp));
    ProtocolIncreases {
        udp,
        // A few echoes that waited for a lost segment are no increase.
        tcp: tcp.filter(|_| has_tcp || udp.is_none()),
        served_first: (has_udp && has_tcp)
            .then(|| served_first(&udp?, &tcp?, handshake.as_ref()))
            .flatten(),
    }
}

/// The protocol that is served first. One echo that waited alone is no proof: new connections have to say the same of TCP.
fn served_first(
    udp: &DelayIncrease,
    tcp: &DelayIncrease,
    handshake: Option<&DelayIncrease>,
) -> Option<ProbeKind> {
    let is_apart =
        |first: f64, later: f64| later - first >= APART_US && first.max(0.0) <= APART_SHARE * later;
    let agrees = |is: &dyn Fn(f64) -> bool| handshake.is_none_or(|one| is(one.p50_us));
    if is_apart(udp.p50_us, tcp.p50_us) && agrees(&|us| is_apart(udp.p50_us, us)) {
        Some(ProbeKind::Udp)
    } else if is_apart(tcp.p50_us, udp.p50_us) && agrees(&|us| is_apart(us, udp.p50_us)) {
        Some(ProbeKind::Tcp)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trips(udp_ms: f64, tcp_ms: f64, handshake_ms: f64) -> ProtocolTrips {
        ProtocolTrips {
            udp: vec![udp_ms * 1e3; 50],
            tcp: vec![tcp_ms * 1e3; 20],
            handshake: vec![handshake_ms * 1e3; 10],
        }
    }

    #[test]
    fn one_is_served_first_where_echo_and_new_connections_say_so() {
        let idle = trips(20.0, 20.0, 20.0);
        let first = |loaded| protocol_increases(&idle, &loaded).served_first;
        assert_eq!(first(trips(20.0, 140.0, 130.0)), Some(ProbeKind::Udp));
        assert_eq!(first(trips(140.0, 21.0, 20.0)), Some(ProbeKind::Tcp));
        assert_eq!(first(trips(140.0, 150.0, 145.0)), None);
        assert_eq!(first(trips(21.0, 24.0, 24.0)), None);
        // A segment that was lost delays those behind it on one connection alone.
        assert_eq!(first(trips(20.0, 140.0, 20.0)), None);
        let mut few = trips(20.0, 140.0, 130.0);
        few.tcp.truncate(5);
        assert_eq!(first(few), None);
    }
}
