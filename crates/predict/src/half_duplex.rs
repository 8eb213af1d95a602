//! Half duplex: data and acknowledgements share one medium, and stations collide.

use caudal_core::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::BitRate;
use std::time::Duration;

/// The slot of Ethernet up to 100 Mbit/s, in bit times (IEEE 802.3 clause 4.4.2).
pub const SLOT_BITS: u64 = 512;

/// The part of a half-duplex medium that TCP delivers as payload, with an acknowledgement for every `segments`.
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

/// The chance that exactly one of `stations` that each send with chance 1/stations sends in a slot.
///
/// `A = (1 − 1/Q)^(Q−1)`; `None` for no station. Source: Metcalfe and Boggs, "Ethernet: Distributed Packet Switching
/// for Local Computer Networks", 1976.
#[must_use]
pub fn acquisition(stations: u32) -> Option<f64> {
    let q = f64::from(stations);
    (stations > 0).then(|| (1.0 - 1.0 / q).powf(q - 1.0))
}

/// The mean slots wasted before a station gets the medium: `(1 − A)/A`; `None` for no station.
///
/// Source: Metcalfe and Boggs, 1976.
#[must_use]
pub fn wasted_slots(stations: u32) -> Option<f64> {
    acquisition(stations).map(|a| (1.0 - a) / a)
}

/// The share of the time a medium carries frames of `frame_bytes` while `stations` always have one to send.
///
/// `(P/C) / (P/C + W·T)` with the slot `T`; `None` for no station, no frame or no rate. The 1976 paper used a slot of
/// 16 µs; Ethernet of 10 Mbit/s has 51.2 µs. Source: Metcalfe and Boggs, 1976.
#[must_use]
pub fn metcalfe_boggs(
    stations: u32,
    frame_bytes: u32,
    line: BitRate,
    slot: Duration,
) -> Option<f64> {
    let wasted = wasted_slots(stations)?;
    let frame = frame_time(frame_bytes, line)?;
    Some(frame / (frame + wasted * slot.as_secs_f64()))
}

/// The share of the time a long medium is of use: `1 / (1 + 5a)` with `a` the propagation over the frame time.
///
/// `None` for no frame or no rate. Source: Kurose and Ross, "Computer Networking", section on CSMA/CD efficiency, after
/// Lam 1980.
#[must_use]
pub fn csma_cd_efficiency(propagation: Duration, frame_bytes: u32, line: BitRate) -> Option<f64> {
    let frame = frame_time(frame_bytes, line)?;
    Some(1.0 / (1.0 + 5.0 * propagation.as_secs_f64() / frame))
}

/// The chance that a station which begins at a random moment begins while another's signal has not reached it.
///
/// `propagation / (frame time + propagation)`; `None` for no frame or no rate. Stations that both wait for the end of
/// the same frame do not begin at random, and collide far more often. Source: carrier sense with a finite speed of
/// signals.
#[must_use]
pub fn random_collision(propagation: Duration, frame_bytes: u32, line: BitRate) -> Option<f64> {
    let frame = frame_time(frame_bytes, line)?;
    let late = propagation.as_secs_f64();
    Some(late / (frame + late))
}

/// The chance that a slot in which anybody sends is a collision, with `stations` that each send with chance 1/stations.
///
/// `1 − Q·p·(1−p)^(Q−1) / (1 − (1−p)^Q)` with `p = 1/Q`; 0 for one station, `None` for none. Source: as
/// [`acquisition`].
#[must_use]
pub fn contention_collision(stations: u32) -> Option<f64> {
    let q = f64::from(stations);
    let one = acquisition(stations)?;
    let any = 1.0 - (1.0 - 1.0 / q).powf(q);
    Some((1.0 - one / any).max(0.0))
}

/// The chance that the station which won the last race wins the next, when the loser is at its `attempt`th collision.
///
/// The winner draws from 2 slots, the loser from `2^attempt`: `1 − 3/2^(attempt+1)`, 5/8 for the second. Both at their
/// first collision: 1/4 each way, so `attempt` 1 gives 1/4. `None` for no attempt. Source: IEEE 802.3 clause 4.2.3.2.5;
/// Ramakrishnan and Yang, "The Ethernet Capture Effect", 1994.
#[must_use]
pub fn capture(attempt: u32) -> Option<f64> {
    let slots = f64::from(1_u32.checked_shl(attempt.min(10)).filter(|_| attempt > 0)?);
    // The winner draws 0: ahead of all but 0; it draws 1: ahead of all but 0 and 1.
    Some(0.5 * (slots - 1.0) / slots + 0.5 * (slots - 2.0) / slots)
}

fn frame_time(frame_bytes: u32, line: BitRate) -> Option<f64> {
    (frame_bytes > 0 && line.bps() > 0).then(|| f64::from(frame_bytes) * 8.0 / line.as_f64())
}

/// What is asked about a half-duplex medium.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HalfDuplexQuestion {
    /// The line rate.
    pub rate: BitRate,
    /// What surrounds the payload.
    pub framing: Framing,
    /// Segments for each acknowledgement.
    pub segments_per_ack: u32,
    /// Flows that share the medium.
    pub flows: u32,
    /// Stations that always have a frame to send, for the contention figures.
    pub stations: u32,
    /// The time a signal takes from end to end.
    pub propagation: Duration,
}

/// What half duplex leaves, by formula. Empty when the MTU carries no payload.
#[must_use]
pub fn half_duplex(question: &HalfDuplexQuestion) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    predictions.extend(tcp(question));
    predictions.extend(udp(question));
    predictions.extend(contention(question));
    predictions
}

const UPPER_BOUND: &str = "no collisions and no idle time: an upper bound, as data and acknowledgements do collide; \
    the capture effect may take a third";

fn tcp(question: &HalfDuplexQuestion) -> Vec<Prediction> {
    let HalfDuplexQuestion {
        rate: line,
        framing,
        segments_per_ack: k,
        flows,
        ..
    } = *question;
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
        .detail(format!("{efficiency:.4}: an ACK for every {k} segment{}", plural(k)))
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

fn udp(question: &HalfDuplexQuestion) -> Option<Prediction> {
    let framing = question.framing;
    let payload = framing.udp_payload_per_frame();
    let goodput = framing.udp_ceiling(question.rate, payload);
    if payload == 0 {
        return None;
    }
    let each = goodput.as_f64() / f64::from(question.flows.max(1));
    let wire = framing.udp_wire_bytes(payload)?;
    Some(
        Prediction::new(
            "udp_goodput_per_flow",
            "UDP goodput, each flow",
            each,
            Unit::BitPerSecond,
        )
        .bound_by("wire")
        .detail("nothing comes back: as full duplex".to_owned())
        .assumes("one direction only, so nobody to collide with")
        .source("IEEE 802.3 framing")
        .step(format!(
            "{} × {payload} / {wire} / {} = {}",
            rate(question.rate),
            question.flows.max(1),
            Unit::BitPerSecond.show(each)
        )),
    )
}

fn contention(question: &HalfDuplexQuestion) -> Vec<Prediction> {
    let HalfDuplexQuestion {
        rate: line,
        framing,
        stations,
        propagation,
        ..
    } = *question;
    let frame = framing
        .mtu
        .saturating_add(18 + if framing.vlan { 4 } else { 0 })
        .max(64);
    if line.bps() == 0 {
        return Vec::new();
    }
    let slot = Duration::from_secs_f64(SLOT_BITS as f64 / line.as_f64());
    let (Some(a), Some(w), Some(e)) = (
        acquisition(stations),
        wasted_slots(stations),
        metcalfe_boggs(stations, frame, line, slot),
    ) else {
        return Vec::new();
    };
    let each = frame_time(frame, line).unwrap_or(0.0);
    let saturated = format!(
        "{stations} station{} that always have a frame of {frame} bytes to send",
        plural(stations)
    );
    let mut predictions = vec![
        Prediction::new("utilisation", "medium in use", e, Unit::Efficiency)
            .detail(format!("{stations} stations, frames of {frame} B (Metcalfe-Boggs)"))
            .assumes(format!("{saturated}, each sending in a free slot with chance 1/{stations}; backing off captures the medium, so few stations do better"))
            .source("Metcalfe and Boggs 1976, with the slot of IEEE 802.3 (512 bit times) for their 16 µs")
            .within(Tolerance { below: 0.05, above: 1.0 })
            .step(format!("A = (1 − 1/{stations})^({stations} − 1) = {}", digits(a)))
            .step(format!("W = (1 − A)/A = {} slots wasted for each frame", digits(w)))
            .step(format!(
                "P/C = {frame} × 8 / {} = {}, T = 512 bit times = {}",
                rate(line),
                Unit::Seconds.show(each),
                time(slot)
            ))
            .step(format!("E = (P/C) / (P/C + W·T) = {e:.4}")),
    ];
    if let Some(collide) = contention_collision(stations) {
        predictions.push(
            Prediction::new("collision_contention", "collisions, all waiting", collide, Unit::Share)
                .detail("of slots in which anybody sends".to_owned())
                .assumes(format!("{saturated}, each sending in a free slot with chance 1/{stations}"))
                .source("Metcalfe and Boggs 1976")
                .within(Tolerance::FACTOR_TWO)
                .step(format!("exactly one sends: A = {}; anybody: 1 − (1 − 1/{stations})^{stations}; collisions = 1 − A / anybody = {}", digits(a), Unit::Share.show(collide))),
        );
    }
    if let Some(random) = random_collision(propagation, frame, line) {
        predictions.push(
            Prediction::new("collision_random", "collisions, at random", random, Unit::Share)
                .detail(format!("within {} of propagation", time(propagation)))
                .assumes("stations begin at random moments; those that wait for the same frame to end do not")
                .source("carrier sense with a finite speed of signals")
                .within(Tolerance::FACTOR_TWO)
                .step(format!(
                    "{} / ({} + {}) = {}",
                    time(propagation),
                    Unit::Seconds.show(each),
                    time(propagation),
                    Unit::Share.show(random)
                )),
        );
    }
    if let Some(again) = capture(2).filter(|_| stations > 1) {
        predictions.push(
            Prediction::new(
                "capture",
                "winner wins the next race",
                again,
                Unit::Share,
            )
            .detail("second collision: it draws from 2 slots, the loser from 4")
            .assumes("two stations that always have a frame; the chance rises with each race, and stations starve")
            .source("IEEE 802.3 clause 4.2.3.2.5; Ramakrishnan and Yang 1994")
            .within(Tolerance::SHARE)
            .step("½ × 3/4 + ½ × 2/4 = 5/8"),
        );
    }
    if let Some(long) = csma_cd_efficiency(propagation, frame, line) {
        predictions.push(
            Prediction::new(
                "csma_cd_efficiency",
                "medium of use, by length",
                long,
                Unit::Efficiency,
            )
            .detail("1 / (1 + 5a)".to_owned())
            .assumes("many stations, a collision costs five propagation times on average")
            .source("Lam 1980; Kurose and Ross, Computer Networking")
            .within(Tolerance::SHARE)
            .step(format!(
                "a = {} / {}; 1 / (1 + 5a) = {long:.4}",
                time(propagation),
                Unit::Seconds.show(each)
            )),
        );
    }
    predictions
}

const fn plural(count: u32) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEN: BitRate = BitRate::from_bps(10_000_000);
    const SLOT: Duration = Duration::from_nanos(51_200);

    fn four(value: Option<f64>) -> String {
        format!("{:.4}", value.unwrap())
    }

    #[test]
    fn acknowledgements_take_their_part_of_the_medium() {
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
    fn contention_by_metcalfe_and_boggs() {
        let e = |q, frame| four(metcalfe_boggs(q, frame, TEN, SLOT));
        assert_eq!(
            [2, 5, 10, 100].map(|q| e(q, 1518)),
            ["0.9595", "0.9427", "0.9375", "0.9329"]
        );
        let three = [2, 5, 10, 100].map(|q| {
            let value = metcalfe_boggs(q, 64, TEN, SLOT).unwrap();
            format!("{value:.3}")
        });
        assert_eq!(three, ["0.500", "0.410", "0.387", "0.370"]);
        assert_eq!(metcalfe_boggs(0, 64, TEN, SLOT), None);
        assert_eq!(metcalfe_boggs(1, 64, TEN, SLOT), Some(1.0));
    }

    #[test]
    fn a_long_medium_wastes_more() {
        let e = |ns, frame| {
            let value = csma_cd_efficiency(Duration::from_nanos(ns), frame, TEN).unwrap();
            format!("{value:.3}")
        };
        // 5 · 25.6 / 1214.4 µs and so on.
        assert_eq!(e(25_600, 1518), "0.905");
        assert_eq!(e(25_600, 64), "0.286");
        assert_eq!(e(2_500, 1518), "0.990");
        assert_eq!(e(2_500, 64), "0.804");
    }

    #[test]
    fn collisions_at_random_and_in_contention() {
        let random = random_collision(Duration::from_nanos(5), 1518, TEN).unwrap();
        // About four in a million: the estimate that hides the contention.
        assert!((3.5e-6..4.5e-6).contains(&random), "{random}");
        assert_eq!(contention_collision(1), Some(0.0));
        // Two stations: one alone 1/2, anybody 3/4.
        assert_eq!(four(contention_collision(2)), "0.3333");
        assert_eq!(capture(1), Some(0.25));
        assert_eq!(capture(2), Some(5.0 / 8.0));
        assert_eq!(capture(0), None);
    }

    #[test]
    fn the_cases_of_a_ten_megabit_hub() {
        let question = HalfDuplexQuestion {
            rate: TEN,
            framing: Framing::default(),
            segments_per_ack: 1,
            flows: 2,
            stations: 2,
            propagation: Duration::from_nanos(2_500),
        };
        let shown: Vec<(String, String)> = half_duplex(&question)
            .iter()
            .map(|one| (one.name.clone(), one.shown()))
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
        fn half_duplex_never_beats_full_and_fewer_acknowledgements_never_cost(k in 1_u32..1000, mtu in 100_u32..9001) {
            let framing = Framing { mtu, ..Framing::default() };
            let half = half_duplex_efficiency(&framing, k).unwrap();
            let full = super::super::efficiency::tcp_efficiency(&framing).unwrap();
            prop_assert!(half > 0.0 && half < full);
            prop_assert!(half_duplex_efficiency(&framing, k + 1).unwrap() >= half);
        }

        #[test]
        fn more_stations_never_use_the_medium_better(q in 1_u32..10_000, frame in 64_u32..9018) {
            let (few, many) = (metcalfe_boggs(q, frame, TEN, SLOT), metcalfe_boggs(q + 1, frame, TEN, SLOT));
            prop_assert!(many.unwrap() <= few.unwrap() && many.unwrap() > 0.0 && few.unwrap() <= 1.0);
            prop_assert!((0.0..=1.0).contains(&contention_collision(q).unwrap()));
            prop_assert!((0.0..=1.0).contains(&capture(q.min(16)).unwrap()));
        }
    }
}
