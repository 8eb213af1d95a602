//! The round-trip times of a run by message size.

use caudal_core::echo::SizeSummary;
use caudal_core::run::Run;

/// The round-trip times with messages of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct SizeResult {
    /// Bytes in each message.
    pub size_bytes: f64,
    /// The mean round-trip time, s.
    pub mean_s: f64,
    /// The interval of the mean, s; absent for a single value.
    pub interval: Option<(f64, f64)>,
    /// The number of round trips.
    pub n: u64,
    /// The round-trip time of the first message, which is not among the others, s; the mean over several connections.
    pub first_s: Option<f64>,
    /// The predicted round-trip time, s.
    pub predicted_s: Option<f64>,
    /// The known points of the distribution: fraction and round-trip time, s.
    pub quantiles: Vec<(f64, f64)>,
}

/// The results of a run by message size, in the order they were measured; none of another kind of run.
#[must_use]
pub fn size_results(run: &Run) -> Vec<SizeResult> {
    let sizes = run.round_trips().map_or(&[][..], |summary| &summary.sizes);
    sizes
        .iter()
        .filter_map(|size| size_result(run, size))
        .collect()
}

/// The results with one message size; `None` when no reply came in time.
fn size_result(run: &Run, size: &SizeSummary) -> Option<SizeResult> {
    let rtt = size.pooled.rtt_us?;
    let name = format!("rtt_{}", size.size_bytes);
    let mut predictions = run.predictions().iter().map(|one| &one.prediction);
    let mean = size.pooled.mean_us.filter(|mean| mean.confidence > 0.0);
    let quantiles = [
        (0.0, Some(rtt.min)),
        (0.5, Some(rtt.p50)),
        (0.9, rtt.p90),
        (0.99, rtt.p99),
        (0.999, rtt.p99_9),
        (1.0, Some(rtt.max)),
    ];
    let known = quantiles
        .into_iter()
        .filter_map(|(fraction, us)| Some((fraction, us? / 1e6)));
    Some(SizeResult {
        size_bytes: f64::from(size.size_bytes),
        mean_s: rtt.mean / 1e6,
        interval: mean.map(|mean| (mean.low / 1e6, mean.high / 1e6)),
        n: rtt.n,
        first_s: size.pooled.first_us.map(|us| us / 1e6),
        predicted_s: predictions
            .find(|prediction| prediction.name == name)
            .map(|prediction| prediction.value),
        quantiles: known.collect(),
    })
}
