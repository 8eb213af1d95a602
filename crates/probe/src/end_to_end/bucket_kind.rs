//! A policer or a shaper, from what trains lost behind a token bucket.

use crate::narrow_capacity::{TrainArrival, TrainFit, TrainShape};
use caudal_core::path::TokenBucketKind;
use caudal_core::units::BitRate;
use caudal_wire::trains::{SeriesReadings, TrainTimes};

/// Minimum share of the datagrams that a policer drops of trains which outlast its bucket.
const MIN_LOST: f64 = 0.1;
/// Minimum ratio of the rate at which trains pass, what was dropped included, to the rate of the bucket.
const MIN_OFFERED: f64 = 1.5;

/// What a token bucket of `rate` did to trains of datagrams with `wire_bytes` each.
///
/// Behind a policer a datagram arrives when it would without one, or not at all: the bytes that were sent up to it, lost ones included, lie on one
/// line over the times of arrival, at the rate of the line before. Behind a shaper those that wait arrive later than that.
pub(super) fn bucket_kind(
    readings: &SeriesReadings,
    wire_bytes: u32,
    rate: BitRate,
) -> TokenBucketKind {
    let trains = readings.trains().unwrap_or_default();
    let policed = trains
        .iter()
        .filter(|train| is_policed(train, wire_bytes, rate))
        .count();
    if 2 * policed > trains.len() {
        TokenBucketKind::Policer
    } else {
        TokenBucketKind::Shaper
    }
}

/// `true` for a train of which much is lost, and what arrives is not delayed.
fn is_policed(train: &TrainTimes, wire_bytes: u32, rate: BitRate) -> bool {
    let (mut offered, mut lost, mut missing) = (Vec::new(), 0_u32, 0_u32);
    for at_ns in &train.arrived_ns {
        match at_ns {
            Some(at_ns) => {
                offered.push(TrainArrival {
                    bytes: wire_bytes.saturating_mul(1 + missing),
                    at_ns: *at_ns,
                });
                missing = 0;
            }
            None => {
                lost += 1;
                missing += 1;
            }
        }
    }
    let sent = train.arrived_ns.len().max(1) as f64;
    let fit = TrainFit::from_arrivals(&offered);
    let is_in_time = fit.is_ok_and(|fit| {
        let is_one_line = match fit.shape {
            TrainShape::OneRate => true,
            // On an exact line the knee is at the first packet.
            TrainShape::TokenBucket { bucket, .. } => bucket.get() <= u64::from(wire_bytes),
        };
        is_one_line && fit.rate.as_f64() >= MIN_OFFERED * rate.as_f64()
    });
    f64::from(lost) / sent >= MIN_LOST && is_in_time
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_NS: u64 = 123_040;

    /// A train over a line of 100 Mbit/s: 30 datagrams at once, then one in seven, each later by `wait_ns` than the one before.
    fn train(wait_ns: u64) -> TrainTimes {
        let mut waited = 0;
        let arrived = |nth: u64| {
            let passes = nth < 30 || nth.is_multiple_of(7);
            if nth >= 30 && passes {
                waited += wait_ns;
            }
            passes.then(|| nth * LINE_NS + waited)
        };
        let arrived_ns: Vec<Option<u64>> = (0..200).map(arrived).collect();
        TrainTimes {
            sent_ns: vec![Some(0); 200],
            arrived_ns,
        }
    }

    #[test]
    fn what_is_lost_without_delay_is_policed() {
        let rate = BitRate::from_bps(14_000_000);
        assert!(is_policed(&train(0), 1538, rate));
        // Each that passes has waited for the ones before it.
        assert!(!is_policed(&train(2_000_000), 1538, rate));
        let mut whole = train(0);
        for (nth, at_ns) in (0..).zip(&mut whole.arrived_ns) {
            *at_ns = Some(nth * LINE_NS);
        }
        assert!(!is_policed(&whole, 1538, rate));
    }
}
