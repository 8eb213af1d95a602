//! Echo: the round-trip time of a message over a link, for one client and for several.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::plan::Transport;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::{BitRate, ByteCount};

/// The link between client and server, with the processing delay of both hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EchoPath {
    /// The protocol of the messages.
    pub transport: Transport,
    /// The line rate.
    pub rate: BitRate,
    /// The one-way propagation delay.
    pub delay: Duration,
    /// The processing delay that both hosts add to a round trip.
    pub hosts: Duration,
    /// The framing of the payload.
    pub framing: Framing,
    /// `true` when both directions share the medium.
    pub half_duplex: bool,
}

impl EchoPath {
    /// Bytes of wire time that a message of `size` takes in one direction; `None` when it cannot be sent.
    #[must_use]
    pub fn wire_bytes(&self, size: u32) -> Option<u64> {
        match self.transport {
            Transport::Tcp => self.framing.tcp_wire_bytes(u64::from(size)),
            Transport::Udp => (size <= caudal_core::plan::MAX_DATAGRAM)
                .then(|| self.framing.udp_wire_bytes(size))?,
        }
    }

    /// The serialisation delay of a message of `size`; `None` when it cannot be sent, or the rate is zero.
    #[must_use]
    pub fn serialisation(&self, size: u32) -> Option<Duration> {
        let seconds = self.wire_bytes(size)? as f64 * 8.0 / self.rate.as_f64();
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// The round-trip time of a message of `size` when each of `clients` sends the next message on receiving the echo.
    ///
    /// `max(2·delay + hosts + 2·T, N·T)` with the serialisation delay `T`: a single client waits for both directions, and
    /// on a saturated link each client waits for one message of every other. On a half-duplex medium both directions share
    /// the time: `N·2·T`. `None` for no clients, and as [`serialisation`](Self::serialisation).
    ///
    /// Source: store and forward over one link; the asymptotic bounds of a closed system, Denning and Buzen, "The
    /// Operational Analysis of Queueing Network Models", 1978.
    #[must_use]
    pub fn round_trip(&self, size: u32, clients: u32) -> Option<Duration> {
        let serialisation = self.serialisation(size)?;
        let alone = self
            .delay
            .checked_mul(2)?
            .checked_add(self.hosts)?
            .checked_add(serialisation.checked_mul(2)?)?;
        let busy = if self.half_duplex {
            serialisation.checked_mul(2)?
        } else {
            serialisation
        };
        (clients > 0).then_some(())?;
        Some(alone.max(busy.checked_mul(clients)?))
    }

    /// The payload rate of stop-and-wait by `clients` together, in one direction: `N·8·size / round trip`.
    ///
    /// `None` as [`round_trip`](Self::round_trip). Source: Kurose and Ross, "Computer Networking", section 3.4.2.
    #[must_use]
    pub fn stop_and_wait(&self, size: u32, clients: u32) -> Option<BitRate> {
        let rtt = self.round_trip(size, clients)?;
        ByteCount::new(u64::from(size).checked_mul(u64::from(clients))?).per(rtt)
    }

    /// The number of clients that saturates the link; `None` as [`serialisation`](Self::serialisation).
    #[must_use]
    pub fn saturation(&self, size: u32) -> Option<f64> {
        let serialisation = self.serialisation(size)?.as_secs_f64();
        let alone = self.round_trip(size, 1)?.as_secs_f64();
        let per_client = if self.half_duplex {
            2.0 * serialisation
        } else {
            serialisation
        };
        (per_client > 0.0).then(|| alone / per_client)
    }
}

/// Predicts the echo of messages of `size` bytes between `clients` and one server.
#[must_use]
pub fn predict_echo(path: &EchoPath, size: u32, clients: u32) -> Vec<Prediction> {
    let (Some(wire), Some(serialisation), Some(rtt), Some(payload)) = (
        path.wire_bytes(size),
        path.serialisation(size),
        path.round_trip(size, clients),
        path.stop_and_wait(size, clients),
    ) else {
        return Vec::new();
    };
    let alone = path.round_trip(size, 1).unwrap_or(rtt);
    let is_saturated = rtt > alone;
    let hosts = if path.hosts.is_zero() {
        "hosts that reply immediately".to_owned()
    } else {
        format!("hosts with a processing delay of {}", time(path.hosts))
    };
    let turn = if path.half_duplex { "2·T" } else { "T" };
    let mut all = vec![
        Prediction::new("rtt", "round trip", rtt.as_secs_f64(), Unit::Seconds)
            .bound_by(if is_saturated { "queue" } else { "path" })
            .detail(if is_saturated {
                format!("{clients} clients wait for one another on a saturated link")
            } else {
                format!("{wire} bytes of wire time each way")
            })
            .assumes(format!(
                "one link without other traffic, store and forward, {hosts}, no slow start (an established connection)"
            ))
            .source("store and forward; Denning and Buzen 1978 for the bound of N clients")
            .within(Tolerance::TIME)
            .step(format!("T = {wire} bytes × 8 / {} = {}", rate(path.rate), time(serialisation)))
            .step(format!(
                "alone: 2 × {} delay + {} hosts + 2·T = {}",
                time(path.delay),
                time(path.hosts),
                time(alone)
            ))
            .step(format!(
                "{clients} client{}: the larger of that and {clients} × {turn} = {}",
                if clients == 1 { "" } else { "s" },
                time(rtt)
            )),
        Prediction::new("stop_and_wait", "stop-and-wait payload", payload.as_f64(), Unit::BitPerSecond)
            .bound_by(if is_saturated { "wire" } else { "rtt" })
            .detail(format!("per direction, {clients} client{}", if clients == 1 { "" } else { "s" }))
            .assumes("each client sends a message on receiving the previous echo")
            .source("Kurose and Ross, Computer Networking, section 3.4.2")
            .within(Tolerance::TIME)
            .step(format!("{clients} × {size} × 8 / {} = {}", time(rtt), rate(payload))),
    ];
    if let Some(full) = path.saturation(size) {
        all.push(
            Prediction::new(
                "saturation",
                "clients that fill the link",
                full,
                Unit::Ratio,
            )
            .detail("with more clients, round trips take longer".to_owned())
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
            let rtt = path().round_trip(size, clients).unwrap();
            format!("{:.3}", rtt.as_secs_f64() * 1e3)
        };
        assert_eq!(path().wire_bytes(65_536), Some(69_676));
        assert_eq!(
            [1, 2, 4, 8].map(|clients| ms(1, clients)),
            ["0.015", "0.015", "0.029", "0.058"]
        );
        assert_eq!(ms(2048, 1), "0.356");
        // Measured: below 15 ms with one client, about 48 ms with eight.
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
    fn a_message_that_cannot_be_sent_has_no_round_trip() {
        let udp = EchoPath {
            transport: Transport::Udp,
            ..path()
        };
        assert_eq!(udp.round_trip(65_536, 1), None);
        assert_eq!(path().round_trip(1, 0), None);
        let no_rate = EchoPath {
            rate: BitRate::ZERO,
            ..path()
        };
        assert_eq!(no_rate.round_trip(1, 1), None);
        assert!(predict_echo(&no_rate, 1, 1).is_empty());
    }

    proptest! {
        #[test]
        fn larger_messages_and_more_clients_never_have_shorter_round_trips(size in 1_u32..1 << 20, more in 0_u32..1 << 20, clients in 1_u32..100, half_duplex: bool) {
            let path = EchoPath { half_duplex, ..path() };
            prop_assert!(path.round_trip(size + more, clients) >= path.round_trip(size, clients));
            prop_assert!(path.round_trip(size, clients + 1) >= path.round_trip(size, clients));
            prop_assert!(path.stop_and_wait(size, clients).unwrap() <= path.rate);
        }
    }
}
