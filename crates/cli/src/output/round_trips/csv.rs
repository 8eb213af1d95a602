//! Round trips as comma-separated values.

use caudal_core::echo::{OneWaySummary, ReplySummary, SizeSummary};
use caudal_core::run::{RoundTripSummary, Run};
use caudal_stats::DistributionSummary;

/// The columns of the comma-separated values, with their units, in their order.
pub const COLUMNS: [&str; 35] = [
    "protocol",
    "size_bytes",
    "client",
    "connect_us",
    "sent",
    "lost",
    "late",
    "duplicate",
    "first_us",
    "n",
    "mean_us",
    "mean_low_us",
    "mean_high_us",
    "confidence",
    "sd_us",
    "min_us",
    "p50_us",
    "p90_us",
    "p99_us",
    "p99_9_us",
    "max_us",
    "stamped",
    "kernel_rtt_p50_us",
    "host_p50_us",
    "lateness_p50_us",
    "lateness_p99_us",
    "lateness_max_us",
    "up_p50_us",
    "up_pdv_p99_us",
    "up_ipdv_mean_abs_us",
    "down_p50_us",
    "down_pdv_p99_us",
    "down_ipdv_mean_abs_us",
    "one_way_bound_us",
    "method",
];

/// The comma-separated lines of a round-trip test: the header, then for each size each client and `all` of them.
#[must_use]
pub fn csv_lines(run: &Run, summary: &RoundTripSummary) -> Vec<String> {
    let transport = run.plan.transport.map_or("", |transport| transport.name());
    let connect_us: Vec<f64> = run
        .flows()
        .iter()
        .filter_map(|flow| flow.connect_us)
        .collect();
    let mut lines = vec![COLUMNS.join(",")];
    for size in &summary.sizes {
        lines.extend(csv_rows(transport, size, &connect_us));
    }
    lines
}

pub(super) fn csv_rows(transport: &str, size: &SizeSummary, connect_us: &[f64]) -> Vec<String> {
    let mut rows: Vec<String> = size
        .clients
        .iter()
        .map(|client| {
            csv_row(
                transport,
                size.size_bytes,
                &client.client.to_string(),
                connect_us.get(client.client as usize).copied(),
                &client.replies,
            )
        })
        .collect();
    let mean = connect_us.iter().sum::<f64>() / connect_us.len() as f64;
    rows.push(csv_row(
        transport,
        size.size_bytes,
        "all",
        (!connect_us.is_empty()).then_some(mean),
        &size.pooled,
    ));
    rows
}

fn csv_row(
    transport: &str,
    size: u32,
    client: &str,
    connect_us: Option<f64>,
    replies: &ReplySummary,
) -> String {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
    let rtt = replies.rtt_us.as_ref();
    let statistic = |value: fn(&DistributionSummary) -> f64| number(rtt.map(value));
    let bounded = rtt.filter(|rtt| rtt.confidence > 0.0);
    let (late, up, down) = (&replies.lateness_us, &replies.up, &replies.down);
    let middle = |way: &Option<OneWaySummary>| {
        number(way.and_then(|way| way.delay_us).map(|delay| delay.p50))
    };
    [
        transport.to_owned(),
        size.to_string(),
        client.to_owned(),
        number(connect_us),
        replies.sent.to_string(),
        replies.lost.to_string(),
        replies.late.to_string(),
        replies.duplicate.to_string(),
        number(replies.first_us),
        rtt.map_or(0, |rtt| rtt.n).to_string(),
        statistic(|rtt| rtt.mean),
        number(bounded.map(|rtt| rtt.mean_low)),
        number(bounded.map(|rtt| rtt.mean_high)),
        bounded.map_or(String::new(), |rtt| rtt.confidence.to_string()),
        number(rtt.and_then(|rtt| rtt.sd)),
        statistic(|rtt| rtt.min),
        statistic(|rtt| rtt.p50),
        number(rtt.and_then(|rtt| rtt.p90)),
        number(rtt.and_then(|rtt| rtt.p99)),
        number(rtt.and_then(|rtt| rtt.p99_9)),
        statistic(|rtt| rtt.max),
        replies
            .kernel
            .map_or(0, |split| split.host_us.n)
            .to_string(),
        number(replies.kernel.map(|split| split.kernel_rtt_us.p50)),
        number(replies.kernel.map(|split| split.host_us.p50)),
        number(late.map(|late| late.p50)),
        number(late.and_then(|late| late.p99)),
        number(late.map(|late| late.max)),
        middle(up),
        number(up.and_then(|way| way.pdv_p99_us)),
        number(up.and_then(|way| way.ipdv_mean_abs_us)),
        middle(down),
        number(down.and_then(|way| way.pdv_p99_us)),
        number(down.and_then(|way| way.ipdv_mean_abs_us)),
        number(up.and_then(|way| way.bound_us)),
        if bounded.is_some() {
            "batch_means_t".to_owned()
        } else {
            String::new()
        },
    ]
    .join(",")
}
