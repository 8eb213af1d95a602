//! The bias of shares by round-trip time.

use std::time::Duration;

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate, time};
use caudal_core::units::BitRate;
use caudal_stats::contention::jain;

use super::parameters::SharingParameters;

/// The shares of flows with one congestion control and different round-trip times.
///
/// Each share is proportional to `1/rtt^bias`: 1 for Reno with random losses, 2 when all flows lose at the same time,
/// 0.25 for CUBIC outside its Reno-friendly region. Empty when a round-trip time is zero. Source: Lakshman and Madhow
/// 1997 for Reno; RFC 9438 section 5.1 for CUBIC, whose window grows with rtt^¾.
#[must_use]
pub fn shares_by_rtt(capacity: BitRate, rtts: &[Duration], bias: f64) -> Vec<f64> {
    if rtts.iter().any(Duration::is_zero) {
        return Vec::new();
    }
    let weights: Vec<f64> = rtts
        .iter()
        .map(|rtt| rtt.as_secs_f64().powf(-bias))
        .collect();
    let sum: f64 = weights.iter().sum();
    weights
        .iter()
        .map(|weight| capacity.as_f64() * weight / sum)
        .collect()
}

pub(super) fn by_rtt(parameters: &SharingParameters) -> Vec<Prediction> {
    let capacity = parameters.framing.tcp_ceiling(parameters.rate);
    let controls = [
        ("reno", "Reno", 1.0, "Lakshman and Madhow 1997"),
        (
            "cubic",
            "CUBIC, its own region",
            0.25,
            "RFC 9438 section 5.1",
        ),
    ];
    let mut all = Vec::new();
    for (name, title, bias, source) in controls {
        let shares = shares_by_rtt(capacity, &parameters.rtts, bias);
        for (nth, (share, rtt)) in shares.iter().zip(&parameters.rtts).enumerate() {
            all.push(
                Prediction::new(format!("{name}_share_{}", nth + 1), format!("{title}, flow {}", nth + 1), *share, Unit::BitPerSecond)
                    .bound_by("wire")
                    .detail(format!("rtt {}", time(*rtt)))
                    .assumes("each flow's round-trip time stays different: a full queue adds the same delay to all and reduces the bias")
                    .source(source)
                    .within(Tolerance::FACTOR_TWO)
                    .step(format!(
                        "{} × (1/{})^{bias} / Σ(1/rtt)^{bias} = {}",
                        rate(capacity),
                        time(*rtt),
                        Unit::BitPerSecond.show(*share)
                    )),
            );
        }
        if let Some(index) = jain(&shares) {
            all.push(
                Prediction::new(
                    format!("{name}_jain"),
                    format!("{title}, Jain's index"),
                    index,
                    Unit::Efficiency,
                )
                .detail("1 is fair")
                .assumes("the shares above")
                .source("Jain, Chiu and Hawe, DEC-TR-301, 1984")
                .within(Tolerance::SHARE)
                .step(format!("(Σx)² / (n·Σx²) = {index:.4}")),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    #[test]
    fn a_shorter_round_trip_gets_a_larger_share() {
        let rtts = [Duration::from_millis(10), Duration::from_millis(40)];
        let reno = shares_by_rtt(mega(10), &rtts, 1.0);
        assert_eq!(
            reno.iter().map(|share| share.round()).collect::<Vec<_>>(),
            [8e6, 2e6]
        );
        let both = shares_by_rtt(mega(10), &rtts, 2.0);
        assert!((both[0] / both[1] - 16.0).abs() < 1e-9);
        let cubic = shares_by_rtt(mega(10), &rtts, 0.25);
        assert!((cubic[0] / cubic[1] - 2.0_f64.sqrt()).abs() < 1e-9);
        assert!(shares_by_rtt(mega(10), &[Duration::ZERO], 1.0).is_empty());
    }
}
