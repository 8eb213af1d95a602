//! CSMA/CD: contention, collisions and capture on a half-duplex Ethernet.

use std::time::Duration;

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::BitRate;

/// The slot time of Ethernet up to 100 Mbit/s, in bit times (IEEE 802.3 clause 4.4.2).
pub const SLOT_BITS: u64 = 512;

/// The probability that exactly one of `stations`, each sending with probability 1/stations, sends in a slot.
///
/// `A = (1 − 1/Q)^(Q−1)`; `None` for no station. Source: Metcalfe and Boggs, "Ethernet: Distributed Packet Switching
/// for Local Computer Networks", 1976.
#[must_use]
pub fn acquisition_probability(stations: u32) -> Option<f64> {
    let q = f64::from(stations);
    (stations > 0).then(|| (1.0 - 1.0 / q).powf(q - 1.0))
}

/// The mean number of slots wasted before a station acquires the medium: `(1 − A)/A`; `None` for no station.
///
/// Source: Metcalfe and Boggs, 1976.
#[must_use]
pub fn wasted_slots(stations: u32) -> Option<f64> {
    acquisition_probability(stations).map(|a| (1.0 - a) / a)
}

/// The utilisation of a medium by frames of `frame_bytes` when `stations` always have one to send.
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

/// The efficiency of CSMA/CD on a long medium: `1 / (1 + 5a)` with `a` the propagation delay over the frame time.
///
/// `None` for no frame or no rate. Source: Kurose and Ross, "Computer Networking", section on CSMA/CD efficiency, after
/// Lam 1980.
#[must_use]
pub fn csma_cd_efficiency(propagation: Duration, frame_bytes: u32, line: BitRate) -> Option<f64> {
    let frame = frame_time(frame_bytes, line)?;
    Some(1.0 / (1.0 + 5.0 * propagation.as_secs_f64() / frame))
}

/// The probability that a station which starts at a random time collides with another whose signal has not reached it yet.
///
/// `propagation / (frame time + propagation)`; `None` for no frame or no rate. Stations that both wait for the end of
/// the same frame do not start at random times, and collide far more often. Source: carrier sense with a finite speed of
/// signals.
#[must_use]
pub fn random_collision_probability(
    propagation: Duration,
    frame_bytes: u32,
    line: BitRate,
) -> Option<f64> {
    let frame = frame_time(frame_bytes, line)?;
    let vulnerable = propagation.as_secs_f64();
    Some(vulnerable / (frame + vulnerable))
}

/// The probability that a busy slot is a collision, with `stations` that each send with probability 1/stations.
///
/// `1 − Q·p·(1−p)^(Q−1) / (1 − (1−p)^Q)` with `p = 1/Q`; 0 for one station, `None` for none. Source: as
/// [`acquisition_probability`].
#[must_use]
pub fn contention_collision_probability(stations: u32) -> Option<f64> {
    let q = f64::from(stations);
    let one = acquisition_probability(stations)?;
    let any = 1.0 - (1.0 - 1.0 / q).powf(q);
    Some((1.0 - one / any).max(0.0))
}

/// The probability that the station that won the last contention wins the next, when the loser is at its `attempt`th collision.
///
/// The winner draws from 2 slots, the loser from `2^attempt`: `1 − 3/2^(attempt+1)`, 5/8 for the second. When both are at
/// their first collision each wins with 1/4, so `attempt` 1 gives 1/4. `None` for no attempt. Source: IEEE 802.3 clause 4.2.3.2.5;
/// Ramakrishnan and Yang, "The Ethernet Capture Effect: Analysis and Solution", 1994.
#[must_use]
pub fn capture_probability(attempt: u32) -> Option<f64> {
    let slots = f64::from(1_u32.checked_shl(attempt.min(10)).filter(|_| attempt > 0)?);
    // If the winner draws 0, it precedes all slots but 0; if it draws 1, all but 0 and 1.
    Some(0.5 * (slots - 1.0) / slots + 0.5 * (slots - 2.0) / slots)
}

fn frame_time(frame_bytes: u32, line: BitRate) -> Option<f64> {
    (frame_bytes > 0 && line.bps() > 0).then(|| f64::from(frame_bytes) * 8.0 / line.as_f64())
}

/// Stations that contend for a half-duplex medium, each always with a frame to send.
pub(crate) struct ContendingStations {
    /// The line rate.
    pub rate: BitRate,
    /// The number of stations.
    pub stations: u32,
    /// The bytes of a frame, without preamble and gap.
    pub frame_bytes: u32,
    /// The propagation delay from end to end.
    pub propagation: Duration,
}

impl ContendingStations {
    /// The predictions of utilisation, collisions and capture. Empty for no station and for a rate of zero.
    pub(crate) fn predictions(&self) -> Vec<Prediction> {
        if self.rate.bps() == 0 || self.stations == 0 {
            return Vec::new();
        }
        [
            self.utilisation(),
            self.contention_collisions(),
            self.random_collisions(),
            self.capture(),
            self.efficiency_by_length(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The stations in the text of an assumption.
    fn saturated(&self) -> String {
        format!(
            "{} station{} that always have a frame of {} bytes to send",
            self.stations,
            if self.stations == 1 { "" } else { "s" },
            self.frame_bytes
        )
    }

    fn utilisation(&self) -> Option<Prediction> {
        let (stations, frame, saturated) = (self.stations, self.frame_bytes, self.saturated());
        let slot = Duration::from_secs_f64(SLOT_BITS as f64 / self.rate.as_f64());
        let a = acquisition_probability(stations)?;
        let w = wasted_slots(stations)?;
        let e = metcalfe_boggs(stations, frame, self.rate, slot)?;
        Some(
        Prediction::new("utilisation", "medium in use", e, Unit::Efficiency)
            .detail(format!("{stations} stations, frames of {frame} B (Metcalfe-Boggs)"))
            .assumes(format!("{saturated}, each sending in an idle slot with probability 1/{stations}; backoff lets one station capture the medium, so few stations achieve more"))
            .source("Metcalfe and Boggs 1976, with the slot time of IEEE 802.3 (512 bit times) instead of their 16 µs")
            .within(Tolerance { below: 0.05, above: 1.0 })
            .step(format!("A = (1 − 1/{stations})^({stations} − 1) = {}", digits(a)))
            .step(format!("W = (1 − A)/A = {} slots wasted for each frame", digits(w)))
            .step(format!(
                "P/C = {frame} × 8 / {} = {}, T = 512 bit times = {}",
                rate(self.rate),
                Unit::Seconds.show(frame_time(frame, self.rate)?),
                time(slot)
            ))
            .step(format!("E = (P/C) / (P/C + W·T) = {e:.4}"))
        )
    }

    fn contention_collisions(&self) -> Option<Prediction> {
        let (stations, saturated) = (self.stations, self.saturated());
        let a = acquisition_probability(stations)?;
        let collision = contention_collision_probability(stations)?;
        Some(
            Prediction::new("collision_contention", "collisions, all waiting", collision, Unit::Share)
                .detail("of busy slots".to_owned())
                .assumes(format!("{saturated}, each sending in an idle slot with probability 1/{stations}"))
                .source("Metcalfe and Boggs 1976")
                .within(Tolerance::FACTOR_TWO)
                .step(format!("exactly one sends: A = {}; at least one: 1 − (1 − 1/{stations})^{stations}; collisions = 1 − A / at least one = {}", digits(a), Unit::Share.show(collision))),
        )
    }

    fn random_collisions(&self) -> Option<Prediction> {
        let propagation = self.propagation;
        let frame_s = frame_time(self.frame_bytes, self.rate)?;
        let collision = random_collision_probability(propagation, self.frame_bytes, self.rate)?;
        Some(
            Prediction::new(
                "collision_random",
                "collisions, at random",
                collision,
                Unit::Share,
            )
            .detail(format!("within {} of propagation", time(propagation)))
            .assumes(
                "stations start at random times; those that wait for the same frame to end do not",
            )
            .source("carrier sense with a finite speed of signals")
            .within(Tolerance::FACTOR_TWO)
            .step(format!(
                "{} / ({} + {}) = {}",
                time(propagation),
                Unit::Seconds.show(frame_s),
                time(propagation),
                Unit::Share.show(collision)
            )),
        )
    }

    fn capture(&self) -> Option<Prediction> {
        let capture = capture_probability(2).filter(|_| self.stations > 1)?;
        Some(
            Prediction::new(
                "capture",
                "winner wins the next contention",
                capture,
                Unit::Share,
            )
            .detail("second collision: it draws from 2 slots, the loser from 4")
            .assumes("two stations that always have a frame; the probability rises with each contention, and stations starve")
            .source("IEEE 802.3 clause 4.2.3.2.5; Ramakrishnan and Yang 1994")
            .within(Tolerance::SHARE)
            .step("½ × 3/4 + ½ × 2/4 = 5/8"),
        )
    }

    fn efficiency_by_length(&self) -> Option<Prediction> {
        let frame_s = frame_time(self.frame_bytes, self.rate)?;
        let efficiency = csma_cd_efficiency(self.propagation, self.frame_bytes, self.rate)?;
        Some(
            Prediction::new(
                "csma_cd_efficiency",
                "efficiency by length",
                efficiency,
                Unit::Efficiency,
            )
            .detail("1 / (1 + 5a)".to_owned())
            .assumes("many stations, a collision costs five propagation delays on average")
            .source("Lam 1980; Kurose and Ross, Computer Networking")
            .within(Tolerance::SHARE)
            .step(format!(
                "a = {} / {}; 1 / (1 + 5a) = {efficiency:.4}",
                time(self.propagation),
                Unit::Seconds.show(frame_s)
            )),
        )
    }
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
    fn a_longer_medium_is_less_efficient() {
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
        let random = random_collision_probability(Duration::from_nanos(5), 1518, TEN).unwrap();
        // About four in a million: the estimate that hides the contention.
        assert!((3.5e-6..4.5e-6).contains(&random), "{random}");
        assert_eq!(contention_collision_probability(1), Some(0.0));
        // Two stations: exactly one sends with 1/2, at least one with 3/4.
        assert_eq!(four(contention_collision_probability(2)), "0.3333");
        assert_eq!(capture_probability(1), Some(0.25));
        assert_eq!(capture_probability(2), Some(5.0 / 8.0));
        assert_eq!(capture_probability(0), None);
    }

    proptest! {
        #[test]
        fn more_stations_never_increase_the_utilisation(q in 1_u32..10_000, frame in 64_u32..9018) {
            let (few, many) = (metcalfe_boggs(q, frame, TEN, SLOT), metcalfe_boggs(q + 1, frame, TEN, SLOT));
            prop_assert!(many.unwrap() <= few.unwrap() && many.unwrap() > 0.0 && few.unwrap() <= 1.0);
            prop_assert!((0.0..=1.0).contains(&contention_collision_probability(q).unwrap()));
            prop_assert!((0.0..=1.0).contains(&capture_probability(q.min(16)).unwrap()));
        }
    }
}
