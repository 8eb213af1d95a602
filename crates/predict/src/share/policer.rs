//! Flows through a policer.

use std::time::Duration;

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, rate, time};
use caudal_core::units::{BitRate, ByteCount};

use super::output::overload_loss;
use super::parameters::{SharingParameters, TokenBucketPolicer};

/// The goodput of a Reno flow through a policer of rate `P` with a bucket of `burst` bytes and no queue.
///
/// `min(P, ¾·(P + √(2·burst·mss)·8/rtt))`: the sawtooth rises above `P` until the area above it has emptied the
/// bucket, then halves. `None` for a round-trip time of zero. Source: the sawtooth of RFC 5681 section 3.1 with the
/// token bucket of RFC 2697; Flach et al., "An Internet-Wide Analysis of Traffic Policing", 2016, for its effect.
#[must_use]
pub fn policed_tcp(policer: BitRate, burst: ByteCount, mss: u32, rtt: Duration) -> Option<BitRate> {
    let rtt = rtt.as_secs_f64();
    (rtt > 0.0).then_some(())?;
    let above = (2.0 * burst.as_f64() * f64::from(mss)).sqrt() * 8.0 / rtt;
    let mean = 0.75 * (policer.as_f64() + above);
    BitRate::from_f64(mean.min(policer.as_f64()))
}

pub(super) fn policed(
    parameters: &SharingParameters,
    policer: TokenBucketPolicer,
) -> Vec<Prediction> {
    let mut all = Vec::new();
    let offered: BitRate = parameters.udp.iter().copied().sum();
    if offered > BitRate::ZERO {
        let lost = overload_loss(offered, policer.rate);
        all.push(
            Prediction::new("policed_udp_loss", "UDP lost, policed", lost, Unit::Share)
                .bound_by(if lost > 0.0 { "policer" } else { "asked" })
                .detail(format!(
                    "{} offered to {}",
                    rate(offered),
                    rate(policer.rate)
                ))
                .assumes(
                    "the policer counts payload, and the test is long compared with its bucket",
                )
                .source("RFC 2697")
                .within(Tolerance::symmetric(0.05))
                .step(format!(
                    "1 − {} / {} = {}",
                    rate(policer.rate),
                    rate(offered),
                    Unit::Share.show(lost)
                )),
        );
    }
    let mss = parameters.framing.tcp_payload_per_frame();
    for rtt in &parameters.rtts {
        if let Some(value) = policed_tcp(policer.rate, policer.burst, mss, *rtt) {
            all.push(
                Prediction::new("policed_tcp_goodput", "TCP, policed", value.as_f64(), Unit::BitPerSecond)
                    .bound_by("policer")
                    .detail(format!("rtt {}, bucket {} B", time(*rtt), policer.burst.get()))
                    .assumes("one Reno flow, no queue, one loss when the bucket is empty; Linux loses more at a time and gets less")
                    .source("RFC 5681 section 3.1 with the token bucket of RFC 2697; Flach et al. 2016")
                    .within(Tolerance::FACTOR_TWO)
                    .step(format!(
                        "¾ × ({} + √(2 × {} × {mss}) × 8 / {}), limited to {} = {}",
                        rate(policer.rate),
                        policer.burst.get(),
                        time(*rtt),
                        rate(policer.rate),
                        rate(value)
                    )),
            );
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    #[test]
    fn a_policer_allows_three_quarters_of_its_rate_without_burst_and_all_with_a_large_burst() {
        let rtt = Duration::from_millis(40);
        assert_eq!(
            policed_tcp(mega(10), ByteCount::ZERO, 1448, rtt),
            Some(BitRate::from_bps(7_500_000))
        );
        assert_eq!(
            policed_tcp(mega(10), ByteCount::new(1_000_000), 1448, rtt),
            Some(mega(10))
        );
        let some = policed_tcp(mega(10), ByteCount::new(10_000), 1448, rtt).unwrap();
        assert_eq!(rate(some), "8.307 Mbit/s");
        assert_eq!(
            policed_tcp(mega(10), ByteCount::ZERO, 1448, Duration::ZERO),
            None
        );
    }

    proptest! {
        #[test]
        fn a_policer_is_never_exceeded_and_a_larger_bucket_never_reduces_goodput(bps in 1_000_u64..1 << 36, burst in 0_u64..1 << 24, more in 0_u64..1 << 24, us in 1_u64..1 << 24) {
            let police = |burst| policed_tcp(BitRate::from_bps(bps), ByteCount::new(burst), 1448, Duration::from_micros(us)).unwrap();
            prop_assert!(police(burst).bps() <= bps && police(burst + more) >= police(burst));
        }
    }
}
