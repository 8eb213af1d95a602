//! The prediction of round-trip times by message size from the minimum and the link, compared with the result.

use std::time::Duration;

use caudal_analysis::link::LinkRateSource;
use caudal_core::echo::SizeSummary;
use caudal_core::prediction::{Prediction, PredictionCheck, Tolerance};
use caudal_core::quantity::{Unit, rate, time};

use crate::echo::EchoPath;

/// The observation of a run of round trips.
#[derive(Debug, Clone, Copy)]
pub struct RoundTripObservation<'a> {
    /// The link between the hosts; its delays are not used, as the minimum round-trip time includes them.
    pub path: EchoPath,
    /// The source of the link's rate.
    pub rate_source: LinkRateSource,
    /// The number of clients that each send the next message on receiving the echo; 1 on a schedule.
    pub clients: u32,
    /// The minimum round-trip time of the idle path, and the size of the message it was measured with, bytes.
    pub idle: Option<(Duration, u32)>,
    /// The results by size.
    pub sizes: &'a [SizeSummary],
}

/// Predicts every size but the one that the others are computed from, and compares with the result.
///
/// The round-trip time of the smallest size contains the propagation and processing delays; a larger message takes longer by
/// the serialisation of its additional bytes, in both directions. For one client the minimum of each size is compared; for
/// several, which wait for one another, the mean. With a single size, the minimum of the idle path is the base.
#[must_use]
pub fn compare(observed: &RoundTripObservation<'_>) -> Vec<PredictionCheck> {
    let baseline = |size: &SizeSummary| {
        let rtt = size.pooled.rtt_us.as_ref()?;
        let us = if observed.clients > 1 {
            rtt.mean
        } else {
            rtt.min
        };
        Some((Duration::from_secs_f64(us.max(0.0) / 1e6), size.size_bytes))
    };
    let smallest = observed
        .sizes
        .iter()
        .filter(|_| observed.sizes.len() > 1)
        .min_by_key(|size| size.size_bytes)
        .and_then(baseline);
    let Some((base, base_size)) = smallest.or(observed.idle) else {
        return Vec::new();
    };
    observed
        .sizes
        .iter()
        .filter(|size| smallest.is_none() || size.size_bytes != base_size)
        .filter_map(|size| compare_size(observed, size, base, base_size))
        .collect()
}

fn compare_size(
    observed: &RoundTripObservation<'_>,
    size: &SizeSummary,
    base: Duration,
    base_size: u32,
) -> Option<PredictionCheck> {
    let bytes = size.size_bytes;
    let rtt = size.pooled.rtt_us.as_ref()?;
    let serialisation = observed.path.serialisation(bytes)?;
    let additional = serialisation.checked_sub(observed.path.serialisation(base_size)?)?;
    let alone = base.checked_add(additional.checked_mul(2)?)?;
    let saturated = serialisation.checked_mul(observed.clients)?;
    let value = alone.max(saturated);
    let (measured, statistic) = if observed.clients > 1 {
        (rtt.mean, "the mean")
    } else {
        (rtt.min, "the minimum")
    };
    let wire = observed.path.wire_bytes(bytes)?;
    let prediction = Prediction::new(
        format!("rtt_{bytes}"),
        format!("round trip of {bytes} B"),
        value.as_secs_f64(),
        Unit::Seconds,
    )
    .bound_by(if saturated > alone { "queue" } else { "path" })
    .detail(if saturated > alone {
        format!("{} clients wait for one another on a saturated link", observed.clients)
    } else {
        format!("{wire} bytes of wire time each way")
    })
    .assumes(format!(
        "{} ({}), one link without other traffic, processing delays that do not depend on the size; observed is {statistic}",
        rate(observed.path.rate),
        observed.rate_source
    ))
    .source("store and forward over one link; Denning and Buzen 1978 for the bound of N clients")
    .within(Tolerance::TIME)
    .step(format!(
        "{statistic} round trip of {base_size} B: {}; {bytes} B take {} longer in each direction",
        time(base),
        time(additional)
    ))
    .step(format!(
        "{} + 2 × {} = {}; {} × {} for one message of every client = {}",
        time(base),
        time(additional),
        time(alone),
        observed.clients,
        time(serialisation),
        time(saturated)
    ));
    let compared = PredictionCheck::new(prediction, measured / 1e6);
    Some(compared.because(|compared| {
        if compared.difference.is_some_and(|difference| difference < 0.0) {
            "cannot tell which property of the link is wrong: it is faster than assumed, or allows short bursts \
             above its rate, as token buckets do"
                .to_owned()
        } else {
            "cannot tell what took the rest, because only whole round trips are observed: hosts that take longer for \
             more bytes, a slower or an additional link, or other traffic"
                .to_owned()
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::framing::Framing;
    use caudal_core::echo::ReplySummary;
    use caudal_core::plan::Transport;
    use caudal_core::units::BitRate;
    use caudal_stats::{DistributionSummary, IntervalMethod};

    fn size(size_bytes: u32, min: f64, mean: f64) -> SizeSummary {
        let rtt = DistributionSummary {
            n: 100,
            min,
            mean,
            sd: None,
            p50: mean,
            p90: None,
            p99: None,
            p99_9: None,
            max: mean,
            mean_low: mean,
            mean_high: mean,
            confidence: 0.95,
            method: IntervalMethod::BatchMeansT,
            mean_trusted: true,
        };
        SizeSummary {
            size_bytes,
            pooled: ReplySummary {
                rtt_us: Some(rtt),
                ..ReplySummary::default()
            },
            clients: Vec::new(),
        }
    }

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

    fn observed(sizes: &[SizeSummary]) -> RoundTripObservation<'_> {
        RoundTripObservation {
            path: path(),
            rate_source: LinkRateSource::Given,
            clients: 1,
            idle: None,
            sizes,
        }
    }

    #[test]
    fn larger_messages_take_longer_by_the_serialisation_of_their_bytes() {
        let sizes = [size(1, 115.0, 130.0), size(65_536, 11_300.0, 11_500.0)];
        let all = compare(&observed(&sizes));
        assert_eq!(all.len(), 1);
        // 115 µs and 2 · (69676 − 91) · 8 / 100 Mbit/s.
        assert_eq!(all[0].prediction.name, "rtt_65536");
        assert_eq!(format!("{:.1}", all[0].prediction.value * 1e6), "11248.6");
        assert!(all[0].holds && all[0].observed == 11_300.0 / 1e6);
    }

    #[test]
    fn many_clients_wait_for_one_another() {
        let sizes = [size(1, 115.0, 130.0), size(65_536, 12_000.0, 48_000.0)];
        let all = compare(&RoundTripObservation {
            clients: 8,
            ..observed(&sizes)
        });
        assert_eq!(format!("{:.1}", all[0].prediction.value * 1e3), "44.6");
        assert!(all[0].holds, "{:?}", all[0]);
    }

    #[test]
    fn a_difference_is_reported_without_a_guess() {
        let sizes = [size(1, 115.0, 130.0), size(65_536, 30_000.0, 31_000.0)];
        let why = compare(&observed(&sizes))[0].why.clone().unwrap();
        assert!(why.starts_with("cannot tell what took the rest"), "{why}");
    }

    #[test]
    fn a_single_size_is_predicted_from_the_idle_path() {
        let sizes = [size(64, 120.0, 130.0)];
        assert!(compare(&observed(&sizes)).is_empty());
        let idle = Some((Duration::from_micros(110), 64));
        assert_eq!(
            compare(&RoundTripObservation {
                idle,
                ..observed(&sizes)
            })
            .len(),
            1
        );
    }
}
