//! The metrics of an echo flow, from its run and the round-trip time of every message.

use caudal_core::run::Run;
use caudal_stats::nearest_rank;

use super::metric_set::{FlowMetrics, ratio};
use crate::trial::RoundTripSamples;

/// Minimum number of samples beyond a percentile for it to be reported.
const MIN_SAMPLES_BEYOND: f64 = 5.0;

/// Adds the messages lost and, of a test with one size, the interval of the mean over the messages.
pub(super) fn add_summary(run: &Run, metrics: &mut FlowMetrics<'_>) {
    let Some(summary) = run.round_trips() else {
        return;
    };
    metrics.put("rtt_low", summary.rtt_us.map(|rtt| rtt.mean_low / 1e6));
    metrics.put("rtt_high", summary.rtt_us.map(|rtt| rtt.mean_high / 1e6));
    let (lost, messages) = (summary.lost as f64, summary.messages as f64);
    metrics.put("lost", ratio(Some(lost), Some(messages)));
}

/// Adds statistics of the round-trip times, pooled over all sizes and connections.
pub(super) fn add_pooled(samples: &RoundTripSamples, metrics: &mut FlowMetrics<'_>) {
    let mut sorted = samples.rtt_ns.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    if sorted.is_empty() {
        return;
    }
    let mean = sorted.iter().sum::<f64>() / n;
    metrics.put("rtt", Some(mean / 1e9));
    let squares: f64 = sorted.iter().map(|ns| (ns - mean).powi(2)).sum();
    let deviation = (n > 1.0).then(|| (squares / (n - 1.0)).sqrt());
    metrics.put("rtt_sd", deviation.map(|ns| ns / 1e9));
    metrics.put("rtt_max", sorted.last().map(|ns| ns / 1e9));
    for (name, q) in [("rtt_p50", 0.5), ("rtt_p95", 0.95), ("rtt_p99", 0.99)] {
        let is_supported = q <= 0.5 || n * (1.0 - q) >= MIN_SAMPLES_BEYOND;
        let value = nearest_rank(&sorted, q).filter(|_| is_supported);
        metrics.put(name, value.map(|ns| ns / 1e9));
    }
}
