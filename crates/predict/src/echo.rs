//! Messages there and back: the round trip of n bytes over a link, alone and among N clients.

use caudal_core::framing::Framing;
use caudal_core::plan::Transport;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The link that messages cross, and what both hosts add.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EchoPath {
    /// The protocol of the messages.
    pub transport: Transport,
    /// The line rate.
    pub rate: BitRate,
    /// The propagation one way.
    pub delay: Duration,
    /// What both hosts add to a round trip.
    pub hosts: Duration,
    /// What surrounds the payload.
    pub framing: Framing,
    /// Whether both directions share the medium.
    pub half_duplex: bool,
}

impl EchoPath {
    /// Bytes of wire time a message of `size` takes one way; `None` when it cannot cross.
    #[must_use]
    pub fn wire_bytes(&self, size: u32) -> Option<u64> {
        match self.transport {
            Transport::Tcp => self.framing.tcp_wire_bytes(u64::from(size)),
            Transport::Udp => (size <= caudal_core::plan::MAX_DATAGRAM)
                .then(|| self.framing.udp_wire_bytes(size))?,
        }
    }

    /// How long a message of `size` occupies the link one way; `None` when it cannot cross, or the rate is zero.
    #[must_use]
    pub fn serialisation(&self, size: u32) -> Option<Duration> {
        let seconds = self.wire_bytes(size)? as f64 * 8.0 / self.rate.as_f64();
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// The round trip of a message of `size` that `clients` at once send, each a new one when the last came back.
    ///
    /// `max(2·delay + hosts + 2·T, N·T)` with `T` the time on the link one way: a client alone waits for both ways, and
    /// when the link is always full each waits for a turn of everybody. On a half-duplex medium both ways take turns:
    /// `N·2·T`. `None` for no clients, and as [`serialisation`](Self::serialisation).
    ///
    /// Source: store and forward over one link; the asymptotic bounds of a closed system, Denning and Buzen, "The
    /// Operational Analysis of Queueing Network Models", 1978.
    #[must_use]
    pub fn round_trip(&self, size: u32, clients: u32) -> Option<Duration> {
        let once = self.serialisation(size)?;
        let alone = self
            .delay
            .checked_mul(2)?
            .checked_add(self.hosts)?
            .checked_add(once.checked_mul(2)?)?;
        let turns = if self.half_duplex {
            once.checked_mul(2)?
        } else {
            once
        };
        (clients > 0).then_some(())?;
        Some(alone.max(turns.checked_mul(clients)?))
    }

    /// What stop-and-wait gives `clients` together, of payload in one direction: `N·8·size / round trip`.
    ///
    /// `None` as [`round_trip`](Self::round_trip). Source: Kurose and Ross, "Computer Networking", section 3.4.2.
    #[must_use]
    pub fn stop_and_wait(&self, size: u32, clients: u32) -> Option<BitRate> {
        let round = self.round_trip(size, clients)?;
        ByteCount::new(u64::from(size).checked_mul(u64::from(clients))?).per(round)
    }

    /// The clients from which on the link is always full; `None` as [`serialisation`](Self::serialisation).
    #[must_use]
    pub fn saturation(&self, size: u32) -> Option<f64> {
        let once = self.serialisation(size)?.as_secs_f64();
        let alone = self.round_trip(size, 1)?.as_secs_f64();
        let turn = if self.half_duplex { 2.0 * once } else { once };
        (turn > 0.0).then(|| alone / turn)
    }
}

/// What is known of an echo of `size` bytes between `clients` and one server.
#[must_use]
pub fn echo(path: &EchoPath, size: u32, clients: u32) -> Vec<Prediction> {
    let (Some(wire), Some(once), Some(round), Some(payload)) = (
        path.wire_bytes(size),
        path.serialisation(size),
        path.round_trip(size, clients),
        path.stop_and_wait(size, clients),
    ) else {
        return Vec::new();
    };
    let alone = path.round_trip(size, 1).unwrap_or(round);
    let waits = round > alone;
    let hosts = if path.hosts.is_zero() {
        "hosts that answer at once".to_owned()
    } else {
        format!("hosts that add {}", time(path.hosts))
    };
    let turn = if path.half_duplex { "2·T" } else { "T" };
    let mut all = vec![
        Prediction::new("rtt", "round trip", round.as_secs_f64(), Unit::Seconds)
            .bound_by(if waits { "queue" } else { "path" })
            .detail(if waits {
                format!("{clients} clients take turns on a full link")
            } else {
                format!("{wire} bytes of wire time each way")
            })
            .assumes(format!(
                "one link without other traffic, store and forward, {hosts}, no slow start (a connection in use)"
            ))
            .source("store and forward; Denning and Buzen 1978 for the bound of N clients")
            .within(Tolerance::TIME)
            .step(format!("T = {wire} bytes × 8 / {} = {}", rate(path.rate), time(once)))
            .step(format!(
                "alone: 2 × {} delay + {} hosts + 2·T = {}",
                time(path.delay),
                time(path.hosts),
                time(alone)
            ))
            .step(format!(
                "{clients} client{}: the larger of that and {clients} × {turn} = {}",
                if clients == 1 { "" } else { "s" },
                time(round)
            )),
        Prediction::new("stop_and_wait", "stop-and-wait payload", payload.as_f64(), Unit::BitPerSecond)
            .bound_by(if waits { "wire" } else { "rtt" })
            .detail(format!("a way, {clients} client{}", if clients == 1 { "" } else { "s" }))
            .assumes("each client sends a message when the last came back")
            .source("Kurose and Ross, Computer Networking, section 3.4.2")
            .within(Tolerance::TIME)
            .step(format!("{clients} × {size} × 8 / {} = {}", time(round), rate(payload))),
    ];
    if let Some(full) = path.saturation(size) {
        all.push(
            Prediction::new(
                "saturation",
                "clients that fill the link",
                full,
                Unit::Ratio,
            )
            .detail("beyond, round trips grow with every client".to_owned())
            .assumes("as above")
            .source("Denning and Buzen 1978")
            .within(Tolerance::TIME)
            .step(format!("{} / {turn} = {}", time(alone), digits(full))),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path() -> EchoPath {
        EchoPath {
            transport: Transport::Tcp,
            rate: BitRate::from_bps(100_000_000),
            delay: Duration::ZERO,
            hosts: Duration::ZERO,
            framing: Framing::default(),
            half_duplex: false,
        }
    }

    #[test]
    fn the_round_trips_of_fast_ethernet_by_size_and_clients() {
        let ms = |size, clients| {
            let round = path().round_trip(size, clients).unwrap();
            format!("{:.3}", round.as_secs_f64() * 1e3)
        };
        assert_eq!(path().wire_bytes(65_536), Some(69_676));
        assert_eq!(
            [1, 2, 4, 8].map(|clients| ms(1, clients)),
            ["0.015", "0.015", "0.029", "0.058"]
        );
        assert_eq!(ms(2048, 1), "0.356");
        // Below 15 ms alone, some 48 ms measured with eight clients.
        assert_eq!(
            [1, 2, 8].map(|clients| ms(65_536, clients)),
            ["11.148", "11.148", "44.593"]
        );
        let half = EchoPath {
            half_duplex: true,
            ..path()
        };
        assert_eq!(
            half.round_trip(65_536, 2).unwrap(),
            path().round_trip(65_536, 4).unwrap()
        );
    }

    #[test]
    fn stop_and_wait_gives_a_message_each_round_trip() {
        let far = EchoPath {
            delay: Duration::from_millis(10),
            ..path()
        };
        let shown = rate(far.stop_and_wait(1448, 1).unwrap());
        assert_eq!(shown, "572.2 kbit/s");
        assert!((far.saturation(1448).unwrap() - (20.0 + 2.0 * 0.12304) / 0.12304).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_cross_has_no_round_trip() {
        let udp = EchoPath {
            transport: Transport::Udp,
            ..path()
        };
        assert_eq!(udp.round_trip(65_536, 1), None);
        assert_eq!(path().round_trip(1, 0), None);
        let still = EchoPath {
            rate: BitRate::ZERO,
            ..path()
        };
        assert_eq!(still.round_trip(1, 1), None);
        assert!(echo(&still, 1, 1).is_empty());
    }

    proptest! {
        #[test]
        fn larger_messages_and_more_clients_never_come_back_sooner(size in 1_u32..1 << 20, more in 0_u32..1 << 20, clients in 1_u32..100, half_duplex: bool) {
            let path = EchoPath { half_duplex, ..path() };
            prop_assert!(path.round_trip(size + more, clients) >= path.round_trip(size, clients));
            prop_assert!(path.round_trip(size, clients + 1) >= path.round_trip(size, clients));
            prop_assert!(path.stop_and_wait(size, clients).unwrap() <= path.rate);
        }
    }
}
