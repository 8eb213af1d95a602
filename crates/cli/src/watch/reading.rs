//! What a recorded run says of its path.

use caudal_core::plan::Direction;
use caudal_core::run::Run;
use caudal_store::{Headline, SampleSeries};
use caudal_views::watch::PathMetrics;

/// Takes the result of a test that succeeded into what is known of its path.
pub(super) fn take(metrics: &mut PathMetrics, run: &Run, series: &[SampleSeries], began_s: f64) {
    metrics.is_up = Some(true);
    metrics.last_test_s = Some(began_s);
    metrics.completed += 1;
    metrics.payload_bytes = metrics.payload_bytes.saturating_add(payload_bytes(run));
    metrics.test_s += test_s(run);
    let headline = Headline::from(run);
    let goodput = |direction: Direction| {
        let mut all = run.directions().iter();
        let one = all.find(|one| one.direction == direction)?;
        one.goodput_mean()
    };
    metrics.up_bps = goodput(Direction::Up).or(headline.up_bps);
    metrics.down_bps = goodput(Direction::Down).or(headline.down_bps);
    metrics.loss = headline.loss;
    metrics.added_delay_s = run.quality().and_then(|report| {
        let added = report
            .phases
            .iter()
            .filter_map(|phase| phase.added_rtt.as_ref());
        added.map(|added| added.mean_us / 1e6).reduce(f64::max)
    });
    metrics.connections_per_s = run
        .connect()
        .and_then(|report| report.per_s.as_ref())
        .map(|per_s| per_s.mean);
    if let Some(summary) = run.round_trips() {
        metrics.probes = metrics.probes.saturating_add(summary.messages);
        metrics.probes_lost = metrics.probes_lost.saturating_add(summary.lost);
    }
    let times = series
        .iter()
        .filter(|one| one.name.starts_with("rtt ") && one.unit == "ns");
    for ns in times.flat_map(|one| &one.values) {
        metrics.rtt.add(ns / 1e9);
    }
}

/// The bytes that a test moved, as far as its document tells: payload in both directions.
pub(super) fn payload_bytes(run: &Run) -> u64 {
    let flows = run.flows().iter().map(|flow| {
        let received = flow.receiver.as_ref().and_then(|end| end.bytes);
        let sent = flow.sender.as_ref().and_then(|end| end.bytes);
        received.or(sent).unwrap_or(0)
    });
    let messages = run.round_trips().map_or(0, |summary| {
        let sizes = summary.sizes.iter().map(|size| {
            let messages = size.clients.iter().map(|client| client.replies.sent);
            2 * u64::from(size.size_bytes) * messages.sum::<u64>()
        });
        sizes.sum()
    });
    let probes = run.path().map_or(0, |path| path.cost.bytes.get());
    flows.chain([messages, probes]).fold(0, u64::saturating_add)
}

fn test_s(run: &Run) -> f64 {
    let directions = run.directions().iter().map(|one| one.measured_s);
    let throughput = directions.fold(0.0, f64::max);
    let others = [
        run.round_trips().map(|summary| summary.elapsed_s),
        run.path().map(|path| path.cost.elapsed_s),
        run.quality().map(|report| {
            let lengths = report.phases.iter().map(|phase| phase.duration_s);
            lengths.sum()
        }),
    ];
    others.into_iter().flatten().fold(throughput, f64::max)
}
