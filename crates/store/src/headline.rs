//! The headline of a run, from its document.

use crate::kept::Headline;
use caudal_core::run::Run;

impl From<&Run> for Headline {
    /// Several directions add up; their round-trip times are averaged. Of round trips by message size the smallest
    /// size counts. A search for a rate shows what it found.
    fn from(run: &Run) -> Self {
        let directions = run.directions();
        let sum = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>());
        let mean = |values: Vec<f64>| {
            let count = values.len() as f64;
            sum(values).map(|sum| sum / count)
        };
        let over_repeats = || {
            let means = run.over_repeats.iter().filter_map(|over| over.goodput_bps);
            sum(means.map(|goodput| goodput.mean).collect())
        };
        let of_directions = || {
            let means = directions
                .iter()
                .filter_map(caudal_core::summary::DirectionSummary::goodput_mean);
            sum(means.collect())
        };
        let counts = directions
            .iter()
            .filter_map(|one| one.loss.as_ref())
            .filter(|loss| loss.is_complete());
        let (lost, sent) = counts.fold((None, None), |(lost, sent), loss| {
            let add = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
                (Some(sum), Some(more)) => Some(sum + more),
                (sum, more) => sum.or(more),
            };
            (add(lost, loss.lost), add(sent, loss.sent))
        });
        let fraction = |lost: Option<u64>, sent: Option<u64>| {
            let sent = sent.filter(|sent| *sent > 0)?;
            Some(lost? as f64 / sent as f64)
        };
        let round_trips = run.round_trips();
        let smallest =
            round_trips.and_then(|summary| summary.sizes.iter().min_by_key(|size| size.size_bytes));
        let rtts = directions.iter().filter_map(|one| one.tcp?.rtt_mean_us);
        let retransmits = directions.iter().filter_map(|one| one.tcp?.retransmits);
        Self {
            goodput_bps: run
                .throughput()
                .and_then(|summary| summary.goodput_bps)
                .map(|goodput| goodput.mean)
                .or_else(over_repeats)
                .or_else(of_directions)
                .or_else(|| Some(run.search.as_ref()?.found.rate_bps? as f64)),
            loss: fraction(lost, sent).or_else(|| {
                let summary = round_trips?;
                fraction(Some(summary.lost), Some(summary.messages))
            }),
            rtt_us: mean(rtts.collect()).or_else(|| Some(smallest?.pooled.mean_us?.mean)),
            retransmits: sum(retransmits.map(|count| count as f64).collect()),
        }
    }
}
