//! Half duplex: data and acknowledgements share one medium, and stations collide.

use caudal_analysis::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate};
use caudal_core::units::BitRate;
use std::time::Duration;

use crate::csma_cd::ContendingStations;

/// The share of a half-duplex medium that is TCP payload, with one acknowledgement per `segments` segments.
///
/// `k·payload / (k·wire + acknowledgement)`, without collisions; `None` for no segments and when the headers fill
/// the MTU. Source: IEEE 802.3 framing; RFC 1122 section 4.2.3.2 for the acknowledgement of every second segment.
#[must_use]
pub fn half_duplex_efficiency(framing: &Framing, segments: u32) -> Option<f64> {
    let payload = framing.tcp_payload_per_frame();
    if payload == 0 || segments == 0 {
        return None;
    }
    let k = f64::from(segments);
    let wire = framing.wire_bytes(u64::from(framing.mtu)) as f64;
    Some(k * f64::from(payload) / (k * wire + framing.ack_wire_bytes() as f64))
}

/// The parameters of flows on a half-duplex medium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfDuplexParameters {
    /// The line rate.
    pub rate: BitRate,
    /// The framing of the payload.
    pub framing: Framing,
    /// The number of segments per acknowledgement.
    pub segments_per_ack: u32,
    /// The number of flows that share the medium.
    pub flows: u32,
    /// The number of stations that always have a frame to send, for the predictions of contention.
    pub stations: u32,
    /// The propagation delay from end to end.
    pub propagation: Duration,
}

/// Predicts goodput and contention on a half-duplex medium. Empty when the MTU leaves no payload.
#[must_use]
pub fn predict_half_duplex(parameters: &HalfDuplexParameters) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    predictions.extend(tcp(parameters));
    predictions.extend(udp(parameters));
    let frame_bytes = parameters
        .framing
        .mtu
        .saturating_add(18 + if parameters.framing.vlan { 4 } else { 0 })
        .max(64);
    predictions.extend(
        ContendingStations {
            rate: parameters.rate,
            stations: parameters.stations,
            frame_bytes,
            propagation: parameters.propagation,
        }
        .predictions(),
    );
    predictions
}

const UPPER_BOUND: &str = "no collisions and no idle time: an upper bound, as data and acknowledgements do collide; \
    the capture effect may take a third";

fn tcp(parameters: &HalfDuplexParameters) -> Vec<Prediction> {
    let HalfDuplexParameters {
        rate: line,
        framing,
        segments_per_ack: k,
        flows,
        ..
    } = *parameters;
    let Some(efficiency) = half_duplex_efficiency(&framing, k) else {
        return Vec::new();
    };
    let (payload, wire, ack) = (
        framing.tcp_payload_per_frame(),
        framing.wire_bytes(u64::from(framing.mtu)),
        framing.ack_wire_bytes(),
    );
    let goodput = line.as_f64() * efficiency;
    let source = "IEEE 802.3 framing; RFC 1122 section 4.2.3.2; Ramakrishnan and Yang 1994 for the capture effect";
    let mut predictions = vec![
        Prediction::new(
            "tcp_goodput",
            "TCP goodput, all flows",
            goodput,
            Unit::BitPerSecond,
        )
        .bound_by("wire")
        .detail(format!("{efficiency:.4}: an ACK per {k} segment{}", plural(k)))
        .assumes(UPPER_BOUND)
        .source(source)
        .within(Tolerance { below: 0.36, above: 0.02 })
        .step(format!(
            "an acknowledgement takes {ack} bytes of wire time, a full segment {wire}, of which {payload} payload"
        ))
        .step(format!(
            "efficiency = {k} × {payload} / ({k} × {wire} + {ack}) = {efficiency:.4}"
        ))
        .step(format!(
            "goodput = {} × {efficiency:.4} = {}",
            rate(line),
            Unit::BitPerSecond.show(goodput)
        )),
    ];
    if flows > 1 {
        let each = goodput / f64::from(flows);
        predictions.push(
            Prediction::new(
                "tcp_goodput_per_flow",
                "TCP goodput, each flow",
                each,
                Unit::BitPerSecond,
            )
            .bound_by("wire")
            .detail(format!("{flows} equal flows"))
            .assumes(format!("equal shares; {UPPER_BOUND}"))
            .source(source)
            .within(Tolerance {
                below: 0.36,
                above: 0.2,
            })
            .step(format!(
                "{} / {flows} = {}",
                Unit::BitPerSecond.show(goodput),
                Unit::BitPerSecond.show(each)
            )),
        );
    }
    predictions
}

fn udp(parameters: &HalfDuplexParameters) -> Option<Prediction> {
    let framing = parameters.framing;
    let payload = framing.udp_payload_per_frame();
    let goodput = framing.udp_ceiling(parameters.rate, payload);
    if payload == 0 {
        return None;
    }
    let each = goodput.as_f64() / f64::from(parameters.flows.max(1));
    let wire = framing.udp_wire_bytes(payload)?;
    Some(
        Prediction::new(
            "udp_goodput_per_flow",
            "UDP goodput, each flow",
            each,
            Unit::BitPerSecond,
        )
        .bound_by("wire")
        .detail("no ACKs: as full duplex".to_owned())
        .assumes("one direction only, so no collisions")
        .source("IEEE 802.3 framing")
        .step(format!(
            "{} × {payload} / {wire} / {} = {}",
            rate(parameters.rate),
            parameters.flows.max(1),
            Unit::BitPerSecond.show(each)
        )),
    )
}

const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN: BitRate = BitRate::from_bps(10_000_000);

    fn four(value: Option<f64>) -> String {
        format!("{:.4}", value.unwrap())
    }

    #[test]
    fn acknowledgements_take_their_share_of_the_medium() {
        let with = Framing::default();
        let without = Framing {
            timestamps: false,
            ..with
        };
        for (framing, k, efficiency) in [
            (with, 1, "0.8894"),
            (with, 2, "0.9147"),
            // 5792 / 6242.
            (with, 4, "0.9279"),
            (without, 1, "0.9001"),
            (without, 2, "0.9241"),
        ] {
            assert_eq!(four(half_duplex_efficiency(&framing, k)), efficiency);
        }
        assert_eq!(half_duplex_efficiency(&with, 0), None);
    }

    #[test]
    fn the_cases_of_a_ten_megabit_hub() {
        let parameters = HalfDuplexParameters {
            rate: TEN,
            framing: Framing::default(),
            segments_per_ack: 1,
            flows: 2,
            stations: 2,
            propagation: Duration::from_nanos(2_500),
        };
        let shown: Vec<(String, String)> = predict_half_duplex(&parameters)
            .iter()
            .map(|one| (one.name.clone(), one.unit_value().to_string()))
            .collect();
        let value = |name: &str| {
            let found = shown.iter().find(|(known, _)| known == name);
            found.map(|(_, shown)| shown.as_str()).unwrap()
        };
        assert_eq!(value("tcp_goodput"), "8.894 Mbit/s");
        assert_eq!(value("tcp_goodput_per_flow"), "4.447 Mbit/s");
        assert_eq!(value("udp_goodput_per_flow"), "4.785 Mbit/s");
        assert_eq!(value("utilisation"), "0.9595");
    }

    proptest! {
        #[test]
        fn half_duplex_never_exceeds_full_duplex_and_fewer_acknowledgements_never_cost(k in 1_u32..1000, mtu in 100_u32..9001) {
            let framing = Framing { mtu, ..Framing::default() };
            let half = half_duplex_efficiency(&framing, k).unwrap();
            let full = super::super::efficiency::tcp_efficiency(&framing).unwrap();
            prop_assert!(half > 0.0 && half < full);
            prop_assert!(half_duplex_efficiency(&framing, k + 1).unwrap() >= half);
        }
    }
}
