//! The result of a direction in one line, and the lines that explain it.

use super::detail::{ecn_text, loss_location, prediction_lines};
use super::round_trip::rtt_line;
use super::window;
use crate::text::{bits, fold, mean_and_interval};
use crate::width::LineWidth;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::loss::Loss;
use caudal_core::quantity::Unit;
use caudal_core::run::{DirectionRepeats, Run};
use caudal_core::summary::TcpEcn;
use caudal_core::summary::{DirectionSummary, RateLevel, TcpSummary};
use caudal_core::text::printable;
use std::fmt;

/// The part of a test at its ends that a level may lack and still reach them, s.
const EDGE_S: f64 = 0.15;
/// Maximum share of what a link can carry: beyond it the link does not have the rate that was given.
const MAX_SHARE: f64 = 1.05;

/// The result of a direction in one line: its goodput with its interval, the share of the link, and what was lost or retransmitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectionHeadline {
    name: String,
    rate: String,
    rest: String,
}

impl DirectionHeadline {
    /// The headline of a direction.
    #[must_use]
    pub fn new(summary: &DirectionSummary) -> Self {
        let (rate, mut rest) = match (&summary.goodput_bps, summary.sent_bps) {
            (Some(goodput), _) => {
                mean_and_interval(goodput, Unit::BitPerSecond, summary.goodput_trusted)
            }
            (None, Some(sent)) => (bits(sent), " sent, as its sender reports".to_owned()),
            (None, None) => ("no rate can be given".to_owned(), String::new()),
        };
        let level = summary.level;
        let level = level.map_or_else(String::new, |level| at_level(level, summary));
        rest = match rest.starts_with(';') {
            true => level + &rest,
            false => rest + &level,
        };
        if let Some(share) = summary.ceiling.as_ref().and_then(|ceiling| ceiling.share) {
            rest += &if share > MAX_SHARE {
                "; more than a link of the given rate can carry".to_owned()
            } else {
                format!("; {} of the link", about_percent(share))
            };
        }
        rest += &summary
            .tcp
            .as_ref()
            .map_or_else(String::new, |tcp| retransmissions(tcp, summary.sent_bytes));
        rest += &summary.loss.as_ref().map_or_else(String::new, loss);
        Self {
            name: summary.direction.in_text().to_owned(),
            rate,
            rest,
        }
    }

    /// The headline of a direction over several runs.
    #[must_use]
    pub fn over_runs(over: &DirectionRepeats) -> Self {
        let (rate, rest) = match &over.goodput_bps {
            Some(goodput) => mean_and_interval(goodput, Unit::BitPerSecond, None),
            None => ("no run was completed".to_owned(), String::new()),
        };
        let runs = over.goodput_bps.map_or(0, |goodput| goodput.n);
        let name = match runs {
            0 => over.direction.in_text().to_owned(),
            1 => format!("{} over 1 run", over.direction.in_text()),
            runs => format!("{} over {runs} runs", over.direction.in_text()),
        };
        Self { name, rate, rest }
    }

    /// The line for a terminal, with the rate in bold.
    #[must_use]
    pub fn with_emphasis(&self, width: LineWidth) -> String {
        let line = printable(&fold(&self.to_string(), 4, width)).into_owned();
        line.replacen(&self.rate, &format!("\x1b[1m{}\x1b[0m", self.rate), 1)
    }
}

impl fmt::Display for DirectionHeadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}{}", self.name, self.rate, self.rest)
    }
}

/// The part of the test that a result is of.
fn at_level(level: RateLevel, summary: &DirectionSummary) -> String {
    let start_s = summary.omitted_s.unwrap_or(0.0);
    let is_last = level.to_s >= start_s + summary.measured_s - EDGE_S;
    let is_first = level.from_s <= start_s + EDGE_S;
    match (is_first, is_last) {
        (_, true) => format!(" from {:.1} s on", level.from_s),
        (true, false) => format!(" until {:.1} s", level.to_s),
        (false, false) => format!(" from {:.1} to {:.1} s", level.from_s, level.to_s),
    }
}

/// A share in percent, with as many digits as are read at a glance.
fn about_percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        tiny if tiny > 0.0 && tiny < 0.01 => "less than 0.01 %".to_owned(),
        few if few < 9.95 => format!("{few:.2} %"),
        many => format!("{many:.1} %"),
    }
}

/// What TCP retransmitted, as a part of what was sent where that is known.
fn retransmissions(tcp: &TcpSummary, sent_bytes: Option<u64>) -> String {
    match (tcp.retransmits, tcp.retransmitted_bytes, sent_bytes) {
        (Some(0), _, _) => "; nothing retransmitted".to_owned(),
        (Some(_), Some(again), Some(sent)) if sent > 0 => {
            let share = again as f64 / (again + sent) as f64;
            format!("; {} retransmitted", about_percent(share))
        }
        (Some(1), _, _) => "; 1 segment retransmitted".to_owned(),
        (Some(count), _, _) => format!("; {count} segments retransmitted"),
        (None, _, _) => String::new(),
    }
}

/// The datagrams that were lost, and those that arrived more than once.
fn loss(loss: &Loss) -> String {
    let duplicates = match loss.duplicate {
        None | Some(0) => String::new(),
        Some(count) => format!(", {count} duplicate"),
    };
    let lost = lost(loss);
    format!("{lost}{duplicates}")
}

fn lost(loss: &Loss) -> String {
    match (loss.lost, loss.sent) {
        (Some(0), Some(sent)) if loss.is_complete() => format!("; 0 of {sent} datagrams lost"),
        (Some(lost), Some(sent)) if loss.is_complete() => {
            let share = loss
                .fraction
                .map_or_else(|| lost.to_string(), |fraction| about_percent(fraction.mean));
            format!("; {share} of {sent} datagrams lost")
        }
        _ => "; loss unknown".to_owned(),
    }
}

/// The lines that explain a result: the round-trip time, where datagrams were lost, what limited it, and a prediction that did not
/// hold.
pub(super) fn explanation(run: &Run, summary: &DirectionSummary, width: LineWidth) -> Vec<String> {
    let mut lines: Vec<String> = rtt_line(run, summary).into_iter().collect();
    if let Some(loss) = summary
        .loss
        .as_ref()
        .filter(|loss| loss.lost.is_some_and(|lost| lost > 0))
        && let Some(location) = &loss.location
    {
        loss_location(location, &mut |line| lines.push(line));
    }
    // What was asked for, or marked.
    let ecn = summary.tcp.as_ref().and_then(|tcp| tcp.ecn);
    let is_told = |ecn: &TcpEcn| ecn.arrived_ce.or(ecn.delivered_ce) > Some(0);
    lines.extend(
        ecn.filter(is_told)
            .map(|ecn| format!("  {}", ecn_text(ecn))),
    );
    // Changes are warnings; what was asked for and came through is said here.
    let marks = summary.marks.iter();
    let kept = marks.filter(|marks| marks.is_notable() && marks.changes().is_empty());
    lines.extend(kept.map(|marks| format!("  marks: {}", marks.sentence())));
    let limit = summary.limited_by.as_ref();
    lines.extend(limit.map(limit_line));
    let next = window::usual_lines(run, summary, width);
    let before = run.directions().iter();
    let mut before = before.take_while(|one| one.direction != summary.direction);
    // What both directions ask for is said once.
    if !before.any(|one| window::usual_lines(run, one, width) == next) {
        lines.extend(next);
    }
    lines.extend(prediction_lines(run, summary.direction, |holds| !holds));
    lines
}

/// The bottleneck of a direction, with the evidence where that is all there is to say.
fn limit_line(limit: &LimitedBy) -> String {
    let name = limit.name();
    // What a policer or losses did is said by the figures.
    let is_bare = limit.limit == Bottleneck::Network
        && matches!(
            limit.cause,
            None | Some(
                Cause::Policer | Cause::RandomLoss | Cause::SlowStart | Cause::CongestionMarks
            )
        );
    match limit.limit {
        Bottleneck::Unknown => format!("  limited by: {name}: {}", limit.evidence),
        _ if is_bare => format!("  limited by: {name}: {}", limit.evidence),
        _ => format!("  limited by: {name}"),
    }
}
