//! Round trips as comma-separated values.

use crate::column::{self, Column, fixed, optional};
use caudal_core::echo::{OneWaySummary, ReplySummary, SizeSummary};
use caudal_core::run::{RoundTripSummary, Run};
use caudal_stats::DistributionSummary;

/// A row of the table: the messages of one size, of a client or of all clients.
#[derive(Debug)]
pub struct ReplyRow<'a> {
    transport: &'a str,
    size_bytes: u32,
    /// The client's number; `None` for all.
    client: Option<u32>,
    /// The client's time to connect, µs; of all the mean.
    connect_us: Option<f64>,
    replies: &'a ReplySummary,
}

impl<'a> ReplyRow<'a> {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 35] = [
        Column::new("protocol", "", "`tcp` or `udp`", |row| {
            row.transport.to_owned()
        }),
        Column::new("size_bytes", "bytes", "in each message", |row| {
            row.size_bytes.to_string()
        }),
        Column::new(
            "client",
            "",
            "the client's number, from 0, or `all` for their pooled messages",
            |row| {
                row.client
                    .map_or_else(|| "all".to_owned(), |client| client.to_string())
            },
        ),
        Column::new(
            "connect_us",
            "µs",
            "duration of the TCP handshake; for `all` the mean",
            |row| fixed(row.connect_us, 3),
        ),
        Column::new(
            "sent",
            "messages",
            "sent, without those that do not count",
            |row| row.replies.sent.to_string(),
        ),
        Column::new(
            "lost",
            "messages",
            "of these, without a reply in time",
            |row| row.replies.lost.to_string(),
        ),
        Column::new(
            "late",
            "messages",
            "replies to messages that had been counted as lost",
            |row| row.replies.late.to_string(),
        ),
        Column::new(
            "duplicate",
            "messages",
            "replies to messages answered already",
            |row| row.replies.duplicate.to_string(),
        ),
        Column::new(
            "first_us",
            "µs",
            "round trip of the first message of this size, which counts separately; for `all` the mean",
            |row| fixed(row.replies.first_us, 3),
        ),
        Column::new("n", "messages", "round trips", |row| {
            row.rtt().map_or(0, |rtt| rtt.n).to_string()
        }),
        Column::new("mean_us", "µs", "their mean", |row| {
            fixed(row.rtt().map(|rtt| rtt.mean), 3)
        }),
        Column::new(
            "mean_low_us",
            "µs",
            "lower end of the mean's interval",
            |row| fixed(row.bounded().map(|rtt| rtt.mean_low), 3),
        ),
        Column::new("mean_high_us", "µs", "upper end", |row| {
            fixed(row.bounded().map(|rtt| rtt.mean_high), 3)
        }),
        Column::new("confidence", "", "of that interval", |row| {
            optional(row.bounded().map(|rtt| rtt.confidence))
        }),
        Column::new("sd_us", "µs", "standard deviation", |row| {
            fixed(row.rtt().and_then(|rtt| rtt.sd), 3)
        }),
        Column::new("min_us", "µs", "minimum", |row| {
            fixed(row.rtt().map(|rtt| rtt.min), 3)
        }),
        Column::new("p50_us", "µs", "median", |row| {
            fixed(row.rtt().map(|rtt| rtt.p50), 3)
        }),
        Column::new(
            "p90_us",
            "µs",
            "90th percentile, from 29 values on",
            |row| fixed(row.rtt().and_then(|rtt| rtt.p90), 3),
        ),
        Column::new(
            "p99_us",
            "µs",
            "99th percentile, from 299 values on",
            |row| fixed(row.rtt().and_then(|rtt| rtt.p99), 3),
        ),
        Column::new(
            "p99_9_us",
            "µs",
            "99.9th percentile, from 2995 values on",
            |row| fixed(row.rtt().and_then(|rtt| rtt.p99_9), 3),
        ),
        Column::new("max_us", "µs", "maximum", |row| {
            fixed(row.rtt().map(|rtt| rtt.max), 3)
        }),
        Column::new(
            "stamped",
            "messages",
            "messages that the kernel timestamped",
            |row| {
                row.replies
                    .kernel
                    .as_ref()
                    .map_or(0, |split| split.host_us.n)
                    .to_string()
            },
        ),
        Column::new(
            "kernel_rtt_p50_us",
            "µs",
            "of those, outside this host: median",
            |row| {
                fixed(
                    row.replies
                        .kernel
                        .as_ref()
                        .map(|split| split.kernel_rtt_us.p50),
                    3,
                )
            },
        ),
        Column::new(
            "host_p50_us",
            "µs",
            "of those, within this host: median",
            |row| {
                fixed(
                    row.replies.kernel.as_ref().map(|split| split.host_us.p50),
                    3,
                )
            },
        ),
        Column::new(
            "lateness_p50_us",
            "µs",
            "on a schedule, how late messages left: median",
            |row| fixed(row.replies.lateness_us.as_ref().map(|late| late.p50), 3),
        ),
        Column::new(
            "lateness_p99_us",
            "µs",
            "99th percentile of the same",
            |row| {
                fixed(
                    row.replies.lateness_us.as_ref().and_then(|late| late.p99),
                    3,
                )
            },
        ),
        Column::new("lateness_max_us", "µs", "maximum of the same", |row| {
            fixed(row.replies.lateness_us.as_ref().map(|late| late.max), 3)
        }),
        Column::new(
            "up_p50_us",
            "µs",
            "one-way delay up, with the clocks' offset taken out: median",
            |row| fixed(median(row.replies.up.as_ref()), 3),
        ),
        Column::new(
            "up_pdv_p99_us",
            "µs",
            "one-way delay up above its minimum: 99th percentile (RFC 5481)",
            |row| fixed(row.replies.up.as_ref().and_then(|way| way.pdv_p99_us), 3),
        ),
        Column::new(
            "up_ipdv_mean_abs_us",
            "µs",
            "mean change of the one-way delay up, regardless of sign (RFC 3393)",
            |row| {
                fixed(
                    row.replies.up.as_ref().and_then(|way| way.ipdv_mean_abs_us),
                    3,
                )
            },
        ),
        Column::new("down_p50_us", "µs", "the same down", |row| {
            fixed(median(row.replies.down.as_ref()), 3)
        }),
        Column::new("down_pdv_p99_us", "µs", "the same down", |row| {
            fixed(row.replies.down.as_ref().and_then(|way| way.pdv_p99_us), 3)
        }),
        Column::new("down_ipdv_mean_abs_us", "µs", "the same down", |row| {
            fixed(
                row.replies
                    .down
                    .as_ref()
                    .and_then(|way| way.ipdv_mean_abs_us),
                3,
            )
        }),
        Column::new(
            "one_way_bound_us",
            "µs",
            "maximum error of the one-way delays due to the clocks' offset",
            |row| fixed(row.replies.up.as_ref().and_then(|way| way.bound_us), 3),
        ),
        Column::new("method", "", "method of the mean's interval", |row| {
            optional(row.bounded().map(|_| "batch_means_t"))
        }),
    ];

    const fn rtt(&self) -> Option<&'a DistributionSummary> {
        self.replies.rtt_us.as_ref()
    }

    /// The round-trip times where their mean has an interval.
    fn bounded(&self) -> Option<&'a DistributionSummary> {
        self.rtt().filter(|rtt| rtt.confidence > 0.0)
    }
}

/// The median of a one-way delay.
fn median(way: Option<&OneWaySummary>) -> Option<f64> {
    way.and_then(|way| way.delay_us).map(|delay| delay.p50)
}

/// The comma-separated lines of a round-trip test: the header, then for each size each client and `all` of them.
#[must_use]
pub fn csv_lines(run: &Run, summary: &RoundTripSummary) -> Vec<String> {
    let transport = run
        .plan
        .transport()
        .map_or("", |transport| transport.name());
    let connect_us: Vec<f64> = run
        .flows()
        .iter()
        .filter_map(|flow| flow.connect_us)
        .collect();
    let mut lines = vec![column::header(&ReplyRow::COLUMNS)];
    for size in &summary.sizes {
        lines.extend(csv_rows(transport, size, &connect_us));
    }
    lines
}

pub(super) fn csv_rows(transport: &str, size: &SizeSummary, connect_us: &[f64]) -> Vec<String> {
    let row = |client, connect_us, replies| {
        let row = ReplyRow {
            transport,
            size_bytes: size.size_bytes,
            client,
            connect_us,
            replies,
        };
        column::row(&ReplyRow::COLUMNS, &row)
    };
    let mut rows: Vec<String> = size
        .clients
        .iter()
        .map(|client| {
            let connect_us = connect_us.get(client.client as usize).copied();
            row(Some(client.client), connect_us, &client.replies)
        })
        .collect();
    let mean = connect_us.iter().sum::<f64>() / connect_us.len() as f64;
    let mean = (!connect_us.is_empty()).then_some(mean);
    rows.push(row(None, mean, &size.pooled));
    rows
}
