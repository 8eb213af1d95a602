//! The result of a direction in one line, and the lines that explain it.

use super::detail::{loss_location, prediction_lines};
use crate::output::text::{bits, bytes, percent, time_us};
use caudal_core::loss::Loss;
use caudal_core::plan::Direction;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::Run;
use caudal_core::summary::{DirectionSummary, TcpSummary};
use caudal_core::text::printable;
use caudal_stats::{Estimate, IntervalMethod};
use std::fmt;

/// The number of samples below which an interval that cannot be relied on is not shown.
const MIN_SAMPLES: u64 = 10;
/// The minimum rise of the round-trip time under load that is called a queue, µs.
const MIN_QUEUE_US: f64 = 1_000.0;
/// The minimum rise, as a part of the idle round-trip time.
const MIN_QUEUE_PART: f64 = 0.2;

/// The result of a direction in one line: its goodput with its interval, the share of the link, and what was lost or retransmitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    name: &'static str,
    rate: String,
    rest: String,
}

impl Headline {
    /// The headline of a direction.
    #[must_use]
    pub fn new(summary: &DirectionSummary) -> Self {
        let name = match summary.direction {
            Direction::Up => "upload",
            Direction::Down => "download",
        };
        let (rate, mut rest) = match (&summary.goodput_bps, summary.sent_bps) {
            (Some(goodput), _) => {
                let shown = EstimateInUnit::new(goodput, Unit::BitPerSecond);
                let doubt = doubt(goodput, summary.goodput_trusted);
                match doubt {
                    Some(doubt) => (bits(goodput.mean), format!(" of goodput{doubt}")),
                    None => (shown.mean(), format!(" of goodput{}", interval(goodput))),
                }
            }
            (None, Some(sent)) => (bits(sent), " sent, as its sender reports".to_owned()),
            (None, None) => ("no rate can be given".to_owned(), String::new()),
        };
        if let Some(share) = summary.ceiling.as_ref().and_then(|ceiling| ceiling.share) {
            rest += &format!("; {} of the link", percent(share));
        }
        rest += &summary
            .tcp
            .as_ref()
            .map_or_else(String::new, |tcp| retransmissions(tcp, summary.sent_bytes));
        rest += &summary.loss.as_ref().map_or_else(String::new, loss);
        Self { name, rate, rest }
    }

    /// The line for a terminal, with the rate in bold.
    #[must_use]
    pub fn with_emphasis(&self) -> String {
        let rest = printable(&self.rest);
        format!("{}: \x1b[1m{}\x1b[0m{rest}", self.name, self.rate)
    }
}

impl fmt::Display for Headline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.name, self.rate, self.rest)
    }
}

/// The interval of a goodput in parentheses; nothing where there is none.
fn interval(goodput: &Estimate) -> String {
    let shown = EstimateInUnit::new(goodput, Unit::BitPerSecond);
    let confidence = Unit::Share.show(goodput.confidence);
    shown.interval().map_or_else(String::new, |interval| {
        format!(" ({confidence} interval {interval})")
    })
}

/// Why an interval is not shown, or not relied on; `None` where it is.
fn doubt(goodput: &Estimate, trusted: Option<bool>) -> Option<String> {
    let is_estimate = goodput.method == IntervalMethod::BatchMeansT;
    if !is_estimate || trusted != Some(false) {
        return None;
    }
    Some(match goodput.n {
        n if n < MIN_SAMPLES => format!("; interval unreliable: {n} samples"),
        _ => {
            format!(
                "{}, which varied together",
                interval(goodput).trim_end_matches(')')
            ) + ")"
        }
    })
}

/// What TCP retransmitted, as a part of what was sent where that is known.
fn retransmissions(tcp: &TcpSummary, sent_bytes: Option<u64>) -> String {
    match (tcp.retransmits, tcp.retransmitted_bytes, sent_bytes) {
        (Some(0), _, _) => "; nothing retransmitted".to_owned(),
        (Some(_), Some(again), Some(sent)) if sent > 0 => {
            let share = again as f64 / (again + sent) as f64;
            format!("; {} retransmitted", percent(share))
        }
        (Some(1), _, _) => "; 1 segment retransmitted".to_owned(),
        (Some(count), _, _) => format!("; {count} segments retransmitted"),
        (None, _, _) => String::new(),
    }
}

/// The datagrams that were lost.
fn loss(loss: &Loss) -> String {
    match (loss.lost, loss.sent) {
        (Some(lost), Some(sent)) if loss.is_complete() => {
            let share = loss
                .fraction
                .filter(|_| lost > 0)
                .map_or_else(String::new, |fraction| {
                    format!(" ({})", percent(fraction.mean))
                });
            format!("; {lost} of {sent} datagrams lost{share}")
        }
        _ => "; loss unknown".to_owned(),
    }
}

/// The lines that explain a result: the round-trip time, where datagrams were lost, what limited it, and a prediction that did not
/// hold.
pub(super) fn explanation(run: &Run, summary: &DirectionSummary) -> Vec<String> {
    let mut lines: Vec<String> = rtt_line(run, summary).into_iter().collect();
    if let Some(loss) = summary
        .loss
        .as_ref()
        .filter(|loss| loss.lost.is_some_and(|lost| lost > 0))
        && let Some(places) = &loss.places
    {
        loss_location(places, &mut |line| lines.push(line));
    }
    let limit = summary.limited_by.as_ref();
    lines.extend(limit.map(|limit| format!("  limited by: {}", limit.name())));
    lines.extend(prediction_lines(run, summary.direction, |holds| !holds));
    lines
}

/// The round-trip time without load and under it, and how much of it is queueing.
fn rtt_line(run: &Run, summary: &DirectionSummary) -> Option<String> {
    let tcp = summary.tcp.as_ref()?;
    let before = run.throughput().and_then(|test| test.idle_rtt_us);
    let min = tcp.rtt_min_us.map(f64::from);
    let idle_us = before.into_iter().chain(min).reduce(f64::min)?;
    let loaded_us = tcp.rtt_mean_us?;
    let times = format!(
        "  rtt: {} idle, {} loaded",
        time_us(idle_us),
        time_us(loaded_us)
    );
    let queue_us = loaded_us - idle_us;
    if queue_us < MIN_QUEUE_US || queue_us < MIN_QUEUE_PART * idle_us {
        return Some(times);
    }
    let queued = summary.goodput_mean().map_or_else(String::new, |bps| {
        let count = bps / 8.0 * queue_us / 1e6;
        format!(" ({} at this rate)", bytes(count as u64))
    });
    Some(format!(
        "{times}: {} of it in queues{queued}",
        time_us(queue_us)
    ))
}
