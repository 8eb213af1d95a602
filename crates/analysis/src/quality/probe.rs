//! The round trips of a probe beside a load, summarised.

use crate::echo::{EchoSeries, Reply};
use caudal_core::quality::{ProbeKind, ProbeSummary};
use caudal_stats::{nearest_rank, samples_needed, wilson};

/// The summary of these round trips in µs, where one that was lost is `None`; `None` when none was completed.
#[must_use]
pub fn probe_summary(
    probe: ProbeKind,
    trips: &[Option<f64>],
    confidence: f64,
) -> Option<ProbeSummary> {
    let mut sorted: Vec<f64> = trips.iter().copied().flatten().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (sent, n) = (trips.len() as u64, sorted.len() as u64);
    Some(ProbeSummary {
        probe,
        sent,
        lost: sent - n,
        refused: None,
        loss: wilson(sent - n, sent, confidence),
        min_us: *sorted.first()?,
        mean_us: sorted.iter().sum::<f64>() / n as f64,
        p50_us: nearest_rank(&sorted, 0.5)?,
        p95_us: supported(&sorted, 0.95),
        p99_us: supported(&sorted, 0.99),
        max_us: *sorted.last()?,
    })
}

/// A quantile, where there are enough values for it.
pub(super) fn supported(sorted: &[f64], q: f64) -> Option<f64> {
    let needed = samples_needed(q)?;
    (sorted.len() as u64 >= needed)
        .then(|| nearest_rank(sorted, q))
        .flatten()
}

/// The round trips of a scheduled echo that were due from `from_ns` on, µs.
pub(super) fn echo_trips(series: &EchoSeries, from_ns: u64) -> Vec<Option<f64>> {
    series
        .departures
        .iter()
        .zip(&series.replies)
        .filter(|(departure, _)| departure.intended_ns >= from_ns)
        .map(|(_, reply)| reply_us(*reply))
        .collect()
}

fn reply_us(reply: Reply) -> Option<f64> {
    reply.ns().map(|ns| ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_need_enough_round_trips_and_losses_are_counted_apart() {
        let trips: Vec<Option<f64>> = (1..=100)
            .map(|nth| (nth % 10 != 0).then_some(f64::from(nth)))
            .collect();
        let summary = probe_summary(ProbeKind::Udp, &trips, 0.95).unwrap();
        assert_eq!((summary.sent, summary.lost), (100, 10));
        assert_eq!((summary.min_us, summary.max_us), (1.0, 99.0));
        assert_eq!(
            (summary.p50_us, summary.p95_us, summary.p99_us),
            (49.0, Some(95.0), None)
        );
        assert_eq!(probe_summary(ProbeKind::Udp, &[None], 0.95), None);
    }
}
