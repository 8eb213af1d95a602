//! Round trips as people and programs read them: the table by size, the MED / DVP / LOW / UPP table, the
//! closing block, comma-separated values, and every sample.

use super::interval_table::Detail;
use super::text::{fold, percent, time_us, warning};
use super::views::TextForm;
use caudal_core::echo::{Departure, EchoRecord, OneWaySummary, Reply, ReplySummary, SizeSummary};
use caudal_core::link::link_rate;
use caudal_core::plan::EchoSchedule;
use caudal_core::prediction::{PredictionCheck, RelativeDifference};
use caudal_core::run::{RoundTripSummary, Run};
use caudal_stats::DistributionSummary;
use caudal_store::SampleSeries;
use std::collections::BTreeMap;

/// Digits a number of the table may take.
const CELL: usize = 6;
/// Maximum number of sizes the closing block shows one by one; of more it shows the first and the last.
const MAX_SIZES: usize = 4;
/// Maximum number of sizes named that took other times than predicted.
const MAX_FAILED: usize = 3;
/// The confidence of intervals where the run does not say it.
const CONFIDENCE: f64 = 0.98;

/// The header of the table by size, in µs.
#[must_use]
pub fn header(confidence: f64) -> String {
    let interval = format!("±{}%", level(confidence));
    cells(
        "size B",
        &[
            "first", "mean", &interval, "sd", "min", "p50", "p90", "p99", "p99.9", "max",
        ],
    )
}

/// A confidence in percent, without zeros behind its last digit.
fn level(confidence: f64) -> String {
    let text = format!("{:.4}", confidence * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// One row of the table by size: `name` is a size or a client.
#[must_use]
pub fn row(name: &str, replies: &ReplySummary) -> String {
    let first = replies.first_us;
    let Some(rtt) = &replies.rtt_us else {
        return cells(
            name,
            &[
                &cell(first),
                "no",
                "reply",
                "in",
                "time",
                "",
                "",
                "",
                "",
                "",
            ],
        );
    };
    // The lower end stops at zero; the upper one does not.
    let half = (rtt.confidence > 0.0).then_some(rtt.mean_high - rtt.mean);
    let values = [
        first,
        Some(rtt.mean),
        half,
        rtt.sd,
        Some(rtt.min),
        Some(rtt.p50),
        rtt.p90,
        rtt.p99,
        rtt.p99_9,
        Some(rtt.max),
    ];
    let values = values.map(cell);
    cells(name, &values.each_ref().map(String::as_str))
}

/// The rows of one size: all clients together, and each by itself where that is asked for.
#[must_use]
pub fn rows(size: &SizeSummary, each_client: bool) -> Vec<String> {
    let mut lines = vec![row(&size.size_bytes.to_string(), &size.pooled)];
    if each_client && size.clients.len() > 1 {
        for client in &size.clients {
            lines.push(row(&format!("#{}", client.client), &client.replies));
        }
    }
    lines
}

fn cells(name: &str, values: &[&str; 10]) -> String {
    let mut line = format!("{name:>8}");
    for value in values {
        line += &format!(" {value:>CELL$}");
    }
    line.trim_end().to_owned()
}

/// A time in µs in at most [`CELL`] characters; "–" where there are too few samples for one.
fn cell(us: Option<f64>) -> String {
    match us {
        None => "–".to_owned(),
        Some(us) if us < 99.995 => format!("{us:.2}"),
        Some(us) if us < 999.95 => format!("{us:.1}"),
        Some(us) if us < 999_999.5 => format!("{us:.0}"),
        Some(us) if us < 99_949_999.5 => format!("{:.1}s", us / 1e6),
        Some(us) => format!("{:.0}s", us / 1e6),
    }
}

/// The table with a column per size: mean, standard deviation and the mean's interval, in ms.
///
/// The first line names protocol, clients and messages, as `TCP/2/100`.
#[must_use]
pub fn table(sizes: &[SizeSummary], transport: &str, clients: u32, count: u64) -> Vec<String> {
    let ms = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), |us| format!("{:.4}", us / 1e3));
    let column = |of: &dyn Fn(&DistributionSummary) -> Option<f64>| -> Vec<String> {
        sizes
            .iter()
            .map(|size| ms(size.pooled.rtt_us.as_ref().and_then(of)))
            .collect()
    };
    let bounded = |bound: f64, rtt: &DistributionSummary| (rtt.confidence > 0.0).then_some(bound);
    let lines: [(String, Vec<String>); 5] = [
        (
            format!("{transport}/{clients}/{count}"),
            sizes
                .iter()
                .map(|size| size.size_bytes.to_string())
                .collect(),
        ),
        ("MED".to_owned(), column(&|rtt| Some(rtt.mean))),
        ("DVP".to_owned(), column(&|rtt| rtt.sd)),
        ("LOW".to_owned(), column(&|rtt| bounded(rtt.mean_low, rtt))),
        ("UPP".to_owned(), column(&|rtt| bounded(rtt.mean_high, rtt))),
    ];
    let name_width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let cells = || lines.iter().flat_map(|(_, cells)| cells);
    let cell_width = cells().map(|cell| cell.chars().count()).max().unwrap_or(0);
    lines
        .iter()
        .map(|(name, cells)| {
            cells
                .iter()
                .fold(format!("{name:<name_width$}"), |line, cell| {
                    format!("{line}  {cell:>cell_width$}")
                })
        })
        .collect()
}

/// What the rows of the table with a column per size are.
#[must_use]
pub fn legend(confidence: f64) -> String {
    fold(
        &format!(
            "times in ms by message size in bytes: MED mean, DVP standard deviation, LOW and UPP the \
             mean's {} % interval (batch means)",
            level(confidence)
        ),
        4,
    )
}

/// The result of a round-trip test: its table, the closing block, and the warnings.
#[must_use]
pub fn result_lines(run: &Run, form: TextForm) -> Vec<String> {
    let Some(summary) = run.round_trips() else {
        return Vec::new();
    };
    let confidence = summary.loss.map_or(CONFIDENCE, |loss| loss.confidence);
    let mut lines = Vec::new();
    if form.size_columns {
        let transport = run
            .plan
            .transport
            .map_or_else(String::new, |t| t.to_string());
        let (clients, count) = (run.plan.clients.unwrap_or(1), run.plan.count.unwrap_or(0));
        lines.extend(table(&summary.sizes, &transport, clients, count));
        lines.push(legend(confidence));
    } else {
        if !form.quiet {
            lines.push(header(confidence));
            for size in &summary.sizes {
                lines.extend(rows(size, form.detail == Detail::Every));
            }
        }
        lines.extend(Closing { run, summary }.lines());
    }
    lines.extend(run.warnings.iter().map(warning));
    lines
}

/// The closing block of a round-trip test.
#[derive(Debug, Clone, Copy)]
pub struct Closing<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its summary.
    pub summary: &'a RoundTripSummary,
}

impl Closing<'_> {
    /// The lines of the block.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut push = |text: String| lines.push(fold(&text, 4));
        let times = self.run.flows().iter().filter_map(|flow| flow.connect_us);
        let times: Vec<f64> = times.collect();
        let min = times.iter().copied().reduce(f64::min);
        let max = times.iter().copied().reduce(f64::max);
        if let (Some(min), Some(max)) = (min.map(time_us), max.map(time_us)) {
            push(match times.len() {
                1 => format!("connected in {min}"),
                several => format!("{several} connections, each made in {min} to {max}"),
            });
        }
        for size in self.shown_sizes() {
            Self::size(size, &mut push);
        }
        let is_scheduled = matches!(self.run.plan.schedule, Some(EchoSchedule::Every { .. }));
        if let Some(why) = self
            .summary
            .kernel_stamps_missing
            .as_ref()
            .filter(|_| !is_scheduled)
        {
            push(format!("host and network not told apart: {why}"));
        }
        self.losses(&mut push);
        self.predictions(&mut push);
        lines
    }

    /// The prediction for the largest message, and the number of sizes for which predictions held.
    fn predictions(&self, push: &mut impl FnMut(String)) {
        let all = self.run.predictions();
        let by_value = |a: &&PredictionCheck, b: &&PredictionCheck| {
            a.prediction.value.total_cmp(&b.prediction.value)
        };
        let Some(largest) = all.iter().max_by(by_value) else {
            if let Some(why) = self.no_prediction() {
                push(format!("predicted: nothing, because {why}"));
            }
            return;
        };
        push(format!("predicted: {} {largest}", largest.prediction.title));
        if all.len() < 2 {
            return;
        }
        let tolerance = largest.prediction.tolerance;
        let mut failed: Vec<&PredictionCheck> = all.iter().filter(|one| !one.holds).collect();
        if failed.is_empty() {
            push(format!(
                "  all {} sizes are within {tolerance} of theirs",
                all.len()
            ));
            return;
        }
        let off = |one: &PredictionCheck| one.difference.unwrap_or(0.0).abs();
        failed.sort_by(|a, b| off(b).total_cmp(&off(a)));
        let worst: Vec<String> = failed
            .iter()
            .take(MAX_FAILED)
            .map(|one| {
                let title = one.prediction.title.trim_start_matches("round trip of ");
                let difference = one.difference.map(RelativeDifference);
                format!(
                    "{title}: {}",
                    difference.map_or_else(String::new, |difference| difference.to_string())
                )
            })
            .collect();
        push(format!(
            "  {} of {} sizes are not within {tolerance} of theirs, the furthest {}",
            failed.len(),
            all.len(),
            worst.join(", ")
        ));
    }

    /// The reason why nothing was predicted.
    fn no_prediction(&self) -> Option<&'static str> {
        let environment = self.run.environment.as_ref()?;
        let (client, server) = (environment.client.as_ref()?, environment.server.as_ref()?);
        let loopback = client.interface.as_deref() == Some("lo");
        link_rate(None, client, server, loopback)
            .err()
            .map(caudal_core::link::UnknownLinkRate::as_str)
    }

    /// The sizes shown one by one.
    fn shown_sizes(&self) -> Vec<&SizeSummary> {
        match self.summary.sizes.as_slice() {
            few if few.len() <= MAX_SIZES => few.iter().collect(),
            [first, .., last] => vec![first, last],
            _ => Vec::new(),
        }
    }

    fn size(size: &SizeSummary, push: &mut impl FnMut(String)) {
        let replies = &size.pooled;
        let Some(rtt) = &replies.rtt_us else {
            push(format!("{} B: no reply came in time", size.size_bytes));
            return;
        };
        let doubt = if rtt.mean_trusted {
            ""
        } else {
            "; unreliable: too few independent samples"
        };
        let interval = if rtt.confidence > 0.0 {
            format!(
                " ({} % interval {} to {}, batch means over {} round trips{doubt})",
                level(rtt.confidence),
                time_us(rtt.mean_low),
                time_us(rtt.mean_high),
                rtt.n
            )
        } else {
            " (one value: no interval)".to_owned()
        };
        push(format!(
            "{} B: {} on average{interval}",
            size.size_bytes,
            time_us(rtt.mean)
        ));
        if let Some(split) = &replies.kernel {
            push(format!(
                "  where: {} network and far host, {} this host's own calls and wake-ups (p50 of {} \
                 messages with kernel timestamps)",
                time_us(split.kernel_rtt_us.p50),
                time_us(split.host_us.p50),
                split.host_us.n
            ));
        }
        if let Some(late) = &replies.lateness_us {
            push(format!(
                "  schedule: messages left late by p50 {}, p99 {}, max {}; this is part of their round trips",
                time_us(late.p50),
                late.p99.map_or_else(|| "–".to_owned(), time_us),
                time_us(late.max)
            ));
        }
        for (name, way) in [("way there", &replies.up), ("way back", &replies.down)] {
            if let Some(way) = way {
                push(one_way(name, way));
            }
        }
    }

    fn losses(&self, push: &mut impl FnMut(String)) {
        let sum = |of: fn(&ReplySummary) -> u64| {
            self.summary
                .sizes
                .iter()
                .map(|size| of(&size.pooled))
                .sum::<u64>()
        };
        let (sent, lost) = (sum(|one| one.sent), sum(|one| one.lost));
        let strays = (sum(|one| one.late), sum(|one| one.duplicate));
        let counts = format!("{} late, {} duplicate", strays.0, strays.1);
        if lost == 0 {
            push(format!("lost: none of {sent} messages; {counts}"));
            return;
        }
        push(format!(
            "lost: {lost} of {sent} messages ({}); {counts}",
            percent(lost as f64 / sent as f64)
        ));
        for size in &self.summary.sizes {
            if let (1.., Some(loss)) = (size.pooled.lost, &size.pooled.loss) {
                push(format!(
                    "  {} B: {} of {}, {} ({} % interval {} to {}, Wilson)",
                    size.size_bytes,
                    size.pooled.lost,
                    size.pooled.sent,
                    percent(loss.mean),
                    level(loss.confidence),
                    percent(loss.low),
                    percent(loss.high)
                ));
            }
        }
    }
}

fn one_way(name: &str, way: &OneWaySummary) -> String {
    let us = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), time_us);
    let delay = match (&way.delay_us, way.bound_us) {
        (Some(delay), Some(bound)) => format!(
            "{} (p50; the clocks' offset makes it wrong by up to ±{}), ",
            time_us(delay.p50),
            time_us(bound)
        ),
        _ => String::new(),
    };
    format!(
        "  {name}: {delay}ipdv {} mean; pdv p50 {}, p99 {}, p99.9 {}, max {}",
        us(way.ipdv_mean_abs_us),
        time_us(way.pdv_p50_us),
        us(way.pdv_p99_us),
        us(way.pdv_p99_9_us),
        time_us(way.pdv_max_us)
    )
}

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

fn csv_rows(transport: &str, size: &SizeSummary, connect_us: &[f64]) -> Vec<String> {
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
    let of = |value: fn(&DistributionSummary) -> f64| number(rtt.map(value));
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
        of(|rtt| rtt.mean),
        number(bounded.map(|rtt| rtt.mean_low)),
        number(bounded.map(|rtt| rtt.mean_high)),
        bounded.map_or(String::new(), |rtt| rtt.confidence.to_string()),
        number(rtt.and_then(|rtt| rtt.sd)),
        of(|rtt| rtt.min),
        of(|rtt| rtt.p50),
        number(rtt.and_then(|rtt| rtt.p90)),
        number(rtt.and_then(|rtt| rtt.p99)),
        number(rtt.and_then(|rtt| rtt.p99_9)),
        of(|rtt| rtt.max),
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

/// The columns of the samples: index 0 is the first message of a size, which counts apart; what does not
/// apply is empty, as is the round trip of a lost message. Times after the clocks' offset is taken out.
pub const RAW_COLUMNS: &str = "client,size_bytes,index,rtt_ns,intended_ns,late_ns,up_ns,down_ns";

/// How long each way of a scheduled message took, ns, after the clocks' offset is taken out.
fn ways(record: &EchoRecord, departure: &Departure) -> Option<(i64, i64)> {
    let at = i64::try_from(departure.intended_ns).unwrap_or(i64::MAX);
    let offset = record.clock.map(|clock| clock.offset_ns(at))?;
    let way = departure.one_way?;
    Some((
        way.up_ns.saturating_sub(offset),
        way.down_ns.saturating_add(offset),
    ))
}

/// Every sample of a run, a text for each series so that none of them grows too large.
pub fn raw(record: &EchoRecord) -> impl Iterator<Item = String> + '_ {
    record.series.iter().map(|series| {
        let shown = |ns: Option<u64>| ns.map_or(String::new(), |ns| ns.to_string());
        let mut text = String::new();
        let replies = series.first.iter().chain(&series.replies);
        for (index, reply) in replies.enumerate() {
            let rtt = shown(Reply::ns(*reply));
            let departure = index
                .checked_sub(1)
                .and_then(|nth| series.departures.get(nth));
            let way = departure.and_then(|departure| ways(record, departure));
            let (up, down) = way.map_or_else(Default::default, |(up, down)| {
                (up.to_string(), down.to_string())
            });
            text += &format!(
                "{},{},{index},{rtt},{},{},{up},{down}\n",
                series.client,
                series.size,
                shown(departure.map(|departure| departure.intended_ns)),
                shown(departure.map(|departure| departure.late_ns)),
            );
        }
        text
    })
}

/// Every sample of a run as the store keeps them, ns: for each client and size `rtt`, and on a schedule `due`,
/// `late` and, where they were measured, the ways `up` and `down`, each with its size, as `rtt 64 B`; for each client
/// `first`, the round trips of the first messages in the order of the sizes, which count apart.
#[must_use]
pub fn series(record: &EchoRecord) -> Vec<SampleSeries> {
    let ns = |ns: Option<u64>| ns.map_or(f64::NAN, |ns| ns as f64);
    let mut all = Vec::new();
    let mut firsts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for one in &record.series {
        let mut put = |name: &str, values: Vec<f64>| {
            all.push(SampleSeries {
                flow: one.client,
                name: format!("{name} {} B", one.size),
                unit: "ns".to_owned(),
                values,
            });
        };
        put(
            "rtt",
            one.replies.iter().map(|reply| ns(reply.ns())).collect(),
        );
        if !one.departures.is_empty() {
            let due = one.departures.iter().map(|left| left.intended_ns as f64);
            put("due", due.collect());
            let late = one.departures.iter().map(|left| left.late_ns as f64);
            put("late", late.collect());
            let both: Vec<(f64, f64)> = one
                .departures
                .iter()
                .map(|left| {
                    ways(record, left)
                        .map_or((f64::NAN, f64::NAN), |(up, down)| (up as f64, down as f64))
                })
                .collect();
            if both.iter().any(|(up, _)| !up.is_nan()) {
                put("up", both.iter().map(|(up, _)| *up).collect());
                put("down", both.iter().map(|(_, down)| *down).collect());
            }
        }
        if let Some(first) = one.first {
            firsts.entry(one.client).or_default().push(ns(first.ns()));
        }
    }
    all.extend(firsts.into_iter().map(|(client, values)| SampleSeries {
        flow: client,
        name: "first".to_owned(),
        unit: "ns".to_owned(),
        values,
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::text::WIDTH;
    use caudal_core::echo::{Departure, EchoSeries, EchoSummaryOptions, OneWayTransit};

    fn record(clients: u32, sizes: &[u32], rtts_ns: &[u64]) -> EchoRecord {
        let mut series = Vec::new();
        for size in sizes {
            for client in 0..clients {
                let reply = |ns: &u64| {
                    if *ns == 0 {
                        Reply::LOST
                    } else {
                        Reply::after(*ns)
                    }
                };
                series.push(EchoSeries {
                    client,
                    size: *size,
                    first: rtts_ns.first().map(reply),
                    replies: rtts_ns[1..].iter().map(reply).collect(),
                    ..EchoSeries::default()
                });
            }
        }
        EchoRecord {
            series,
            clock: None,
        }
    }

    fn summary(record: &EchoRecord) -> Vec<SizeSummary> {
        record.summarise(EchoSummaryOptions {
            confidence: 0.98,
            include_first: false,
        })
    }

    #[test]
    fn the_table_by_size_fits_the_terminal_whatever_the_times() {
        let widths = |line: &str| line.chars().count();
        assert!(widths(&header(0.9999)) <= WIDTH);
        for scale in [1, 1000, 1_000_000, 10_000_000_000] {
            let rtts: Vec<u64> = (1..5000).map(|nth| (900 + nth % 97) * scale).collect();
            for size in summary(&record(2, &[1, 16 << 20], &rtts)) {
                for line in rows(&size, true) {
                    assert!(widths(&line) <= WIDTH, "{line}");
                }
            }
        }
    }

    #[test]
    fn percentiles_with_too_few_samples_are_dashes() {
        let few = summary(&record(1, &[64], &[50_000, 10_000, 20_000, 30_000]));
        assert_eq!(
            header(0.98),
            "  size B  first   mean   ±98%     sd    min    p50    p90    p99  p99.9    max"
        );
        let line = rows(&few[0], false).remove(0);
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..3], ["64", "50.00", "20.00"]);
        assert_eq!(
            words[4..],
            ["10.00", "10.00", "20.00", "–", "–", "–", "30.00"]
        );
        let none = summary(&record(1, &[64], &[50_000, 0]));
        assert_eq!(
            rows(&none[0], false),
            ["      64  50.00     no  reply     in   time"]
        );
    }

    #[test]
    fn the_table_of_the_study_has_a_column_per_size() {
        let sizes = summary(&record(
            2,
            &[1, 65_536],
            &[9_000_000, 400_000, 600_000, 500_000],
        ));
        let lines = table(&sizes, "TCP", 2, 3);
        assert_eq!(lines[0], "TCP/2/3       1   65536");
        assert_eq!(lines[1], "MED      0.5000  0.5000");
        let names: Vec<&str> = lines
            .iter()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(names, ["TCP/2/3", "MED", "DVP", "LOW", "UPP"]);
        assert!(
            lines
                .iter()
                .all(|line| line.split_whitespace().count() == 3)
        );
        assert!(legend(0.98).contains("ms") && legend(0.98).contains("98 %"));
    }

    #[test]
    fn there_is_a_csv_row_for_each_client_and_one_for_all_and_every_row_is_full() {
        let sizes = summary(&record(2, &[1, 2], &[9_000, 4_000, 6_000]));
        let rows = csv_rows("tcp", &sizes[1], &[30.0, 50.0]);
        assert_eq!(rows.len(), 3);
        for row in &rows {
            assert_eq!(row.split(',').count(), COLUMNS.len(), "{row}");
        }
        assert!(
            rows[1].starts_with("tcp,2,1,50.000,2,0,0,0,9.000,2,5.000,"),
            "{}",
            rows[1]
        );
        assert!(
            rows[2].starts_with("tcp,2,all,40.000,4,0,0,0,9.000,4,5.000,"),
            "{}",
            rows[2]
        );
        let lost = summary(&record(1, &[1], &[0, 0]));
        assert_eq!(
            csv_rows("udp", &lost[0], &[])[0].split(',').count(),
            COLUMNS.len()
        );
    }

    #[test]
    fn every_sample_is_written_the_first_as_number_0_and_the_lost_without_a_time() {
        let mut record = record(1, &[8], &[9_000, 4_000, 0]);
        record.series[0].departures = vec![Departure {
            intended_ns: 5,
            late_ns: 6,
            one_way: Some(OneWayTransit {
                up_ns: 7,
                down_ns: 8,
            }),
        }];
        let text: String = raw(&record).collect();
        assert_eq!(text, "0,8,0,9000,,,,\n0,8,1,4000,5,6,,\n0,8,2,,,,,\n");
        assert_eq!(RAW_COLUMNS.split(',').count(), 8);
    }

    #[test]
    fn the_closing_block_gives_losses_with_their_interval() {
        let sizes = summary(&record(1, &[8], &[9_000, 4_000, 0, 5_000]));
        let document = serde_json::json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"}, "plan": {"kind": "rtt"},
            "summary": {"sizes": sizes, "include_first": false, "messages": 3, "lost": 1, "elapsed_s": 1.0,
                "kernel_stamps_missing": "the kernel stamped none"},
        });
        let run: Run = serde_json::from_value(document).unwrap();
        let closing = Closing {
            run: &run,
            summary: run.round_trips().unwrap(),
        };
        let text = closing.lines().join("\n");
        assert!(
            text.contains("lost: 1 of 3 messages (33.3 %); 0 late, 0 duplicate"),
            "{text}"
        );
        assert!(
            text.contains("8 B: 1 of 3, 33.3 % (98 % interval"),
            "{text}"
        );
        assert!(
            text.contains("not told apart: the kernel stamped none"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
    }
}
