//! Logs that contradict themselves: the end of a test against its intervals, counts that cannot be, counters that wrapped, time that did
//! not pass.
//!
//! Each contradiction becomes a warning, and the value that the rest of the log supports is taken.

use super::log::{Log, LogCounts, LogFlow};
use caudal_core::plan::Direction;
use caudal_core::quantity::size;
use caudal_core::sample::Role;
use caudal_core::units::ByteCount;
use caudal_core::warning::WarningCode;

/// Maximum relative difference of byte counts that is rounding, or the last moment of a test.
const TOLERANCE: f64 = 0.05;
/// The same for a difference that an explanation accounts for completely.
const EXACT: f64 = 0.02;
/// Range of a 32-bit counter.
const WRAP: f64 = 4_294_967_296.0;
const ENDS: [Role; 2] = [Role::Sender, Role::Receiver];

/// What the end of a stream says and the rest of the log does not.
#[derive(Debug, Clone, Copy, PartialEq)]
enum EndContradiction {
    /// It counts the warm-up.
    WarmUp,
    /// Its counter wrapped.
    Wrapped,
    /// Nothing explains it.
    Unexplained,
}

/// Finds the contradictions of a log, and takes what the rest of it supports.
pub fn resolve_contradictions(log: &mut Log) {
    let mut warnings = Vec::new();
    for flow in log.flows.iter_mut().chain(&mut log.sums) {
        impossible_counts(flow, &mut warnings);
    }
    for flow in log.flows.iter_mut().chain(&mut log.sums) {
        for count in flow.intervals.iter_mut() {
            wrapped_by_rate(count, &mut warnings);
        }
        for end in ENDS {
            if let Some(count) = flow.end_mut(end) {
                wrapped_by_rate(count, &mut warnings);
            }
        }
        no_time(flow, &mut warnings);
    }
    for direction in [Direction::Up, Direction::Down] {
        end_against_intervals(log, direction, &mut warnings);
        sum_against_flows(log, direction, &mut warnings);
    }
    for message in warnings {
        let warning = (WarningCode::LogContradictory, message);
        if !log.warnings.contains(&warning) {
            log.warnings.push(warning);
        }
    }
}

fn is_near(one: f64, other: f64, share: f64) -> bool {
    (one - other).abs() <= share * one.abs().max(other.abs())
}

fn bytes_text(bytes: f64) -> String {
    size(ByteCount::new(bytes.max(0.0).round() as u64))
}

/// Counts that no test has: more lost than sent, or fewer than none.
fn impossible_counts(flow: &mut LogFlow, warnings: &mut Vec<String>) {
    let ends = [flow.sender.as_mut(), flow.receiver.as_mut()];
    let counts = flow.intervals.iter_mut().chain(ends.into_iter().flatten());
    for count in counts {
        if std::mem::take(&mut count.has_negative) {
            let what = "the log has counts below zero, which are left out";
            warnings.push(what.to_owned());
        }
        if let (Some(lost), Some(all)) = (count.lost, count.datagrams)
            && lost > all
        {
            warnings.push(format!(
                "the log has {lost:.0} of {all:.0} datagrams lost: both counts are left out"
            ));
            (count.lost, count.datagrams) = (None, None);
        }
    }
    // The intervals tell what the end does not.
    let rows: Vec<&LogCounts> = flow.intervals.iter().filter(|row| !row.omitted).collect();
    let sum =
        |key: fn(&LogCounts) -> Option<f64>| rows.iter().map(|row| key(row)).sum::<Option<f64>>();
    let (lost, datagrams) = (sum(|row| row.lost), sum(|row| row.datagrams));
    if let Some(end) = flow.end_mut(Role::Receiver)
        && end.lost.is_none()
        && end.datagrams.is_none()
        && let (Some(lost), Some(datagrams)) = (lost, datagrams)
        && datagrams > 0.0
    {
        (end.lost, end.datagrams) = (Some(lost), Some(datagrams));
    }
}

/// A count of bytes that is short of its own rate by a multiple of 2^32.
fn wrapped_by_rate(count: &mut LogCounts, warnings: &mut Vec<String>) {
    let seconds = count.end_s - count.start_s;
    let (Some(bytes), Some(bps)) = (count.bytes, count.bps) else {
        return;
    };
    let by_rate = bps * seconds / 8.0;
    let wraps = ((by_rate - bytes) / WRAP).round();
    if (1.0..1e6).contains(&wraps) && bytes < WRAP && is_near(bytes + wraps * WRAP, by_rate, EXACT)
    {
        let (was, is) = (bytes_text(bytes), bytes_text(bytes + wraps * WRAP));
        warnings.push(format!(
            "a counter of 32 bits wrapped: {was} do not have the rate beside them, {is} do and are taken"
        ));
        count.bytes = Some(bytes + wraps * WRAP);
    }
}

/// Bytes in no time: their rate is not known, unless the intervals give the time.
fn no_time(flow: &mut LogFlow, warnings: &mut Vec<String>) {
    let rows = flow.intervals.iter().filter(|row| !row.omitted);
    let span = rows.fold(None, |span: Option<(f64, f64)>, row| {
        let (start, end) = span.unwrap_or((row.start_s, row.end_s));
        Some((start.min(row.start_s), end.max(row.end_s)))
    });
    let span = span.filter(|(start, end)| end > start);
    for row in &mut flow.intervals {
        if row.end_s <= row.start_s {
            row.bps = None;
        }
    }
    for end in ENDS {
        let Some(count) = flow.end_mut(end) else {
            continue;
        };
        if count.end_s > count.start_s || count.bytes.is_none_or(|bytes| bytes == 0.0) {
            continue;
        }
        let bytes = bytes_text(count.bytes.unwrap_or(0.0));
        count.bps = None;
        let instead = match span {
            Some((start, end)) => {
                (count.start_s, count.end_s) = (start, end);
                "the time of the intervals is taken"
            }
            None => "the rate is not known",
        };
        warnings.push(format!("the end of the log has {bytes} in 0 s: {instead}"));
    }
}

/// The intervals of a flow behind the warm-up, when nothing is missing between them: their bytes, and those of the warm-up.
fn covered(flow: &LogFlow, end: &LogCounts) -> Option<(f64, f64)> {
    let all = |omitted: bool| {
        flow.intervals
            .iter()
            .filter(move |row| row.omitted == omitted)
    };
    let bytes = |omitted| all(omitted).map(|row| row.bytes).sum::<Option<f64>>();
    let (first, last) = (all(false).next()?, all(false).next_back()?);
    // Some versions number the first interval behind the warm-up as if that went on.
    let warm_up_s = all(true).next_back().map_or(0.0, |row| row.end_s);
    let slack = |seconds: f64| 0.1 + seconds.abs() * TOLERANCE;
    let begins = first.start_s <= slack(0.0) || (first.start_s - warm_up_s).abs() <= slack(0.0);
    let rows: Vec<&LogCounts> = all(false).collect();
    let is_joined = rows
        .windows(2)
        .all(|pair| (pair[1].start_s - pair[0].end_s).abs() <= slack(0.0));
    let ends = (last.end_s - end.end_s).abs() <= slack(end.end_s - end.start_s);
    (begins && is_joined && ends)
        .then(|| Some((bytes(false)?, bytes(true)?)))
        .flatten()
}

/// What the end of a flow contradicts of its intervals, and the bytes of these.
fn contradiction(flow: &LogFlow, end: &LogCounts) -> Option<(EndContradiction, f64)> {
    let (counted, warm_up) = covered(flow, end)?;
    let total = end.bytes?;
    // A part of the last interval may be in the end alone.
    let rows = flow.intervals.iter().filter(|row| !row.omitted);
    let largest = rows.filter_map(|row| row.bytes).fold(0.0, f64::max);
    // Some versions leave intervals of the warm-up out.
    if warm_up > largest * TOLERANCE && total >= (counted + warm_up) * (1.0 - EXACT) {
        return Some((EndContradiction::WarmUp, counted));
    }
    let wraps = ((counted - total) / WRAP).round();
    if wraps >= 1.0 && total < WRAP && is_near(total + wraps * WRAP, counted, EXACT) {
        return Some((EndContradiction::Wrapped, counted));
    }
    let differs = !is_near(total, counted, TOLERANCE) && (total - counted).abs() > 1.05 * largest;
    differs.then_some((EndContradiction::Unexplained, counted))
}

/// The end of each flow of a direction against its intervals, which are taken where they contradict it.
fn end_against_intervals(log: &mut Log, direction: Direction, warnings: &mut Vec<String>) {
    let mut found: Vec<(EndContradiction, f64, f64)> = Vec::new();
    for flow in log
        .flows
        .iter_mut()
        .filter(|flow| flow.direction == direction)
    {
        let near = flow.counted_by;
        let Some(end) = flow.end(near).copied() else {
            continue;
        };
        let Some((what, counted)) = contradiction(flow, &end) else {
            continue;
        };
        let total = end.bytes.unwrap_or(0.0);
        found.push((what, total, counted));
        let seconds = end.end_s - end.start_s;
        let bps = (seconds > 0.0).then(|| counted * 8.0 / seconds);
        *flow.end_mut(near) = Some(LogCounts {
            bytes: Some(counted),
            bps,
            ..end
        });
        // The other end counted the same, and has no intervals here that tell how much of it.
        let far = if near == Role::Sender {
            Role::Receiver
        } else {
            Role::Sender
        };
        if let Some(other) = flow.end_mut(far)
            && other
                .bytes
                .is_some_and(|bytes| is_near(bytes, total, TOLERANCE))
        {
            (other.bytes, other.bps) = (None, None);
        }
    }
    let Some(&(what, ..)) = found.first() else {
        return;
    };
    for sum in log.sums.iter_mut().filter(|sum| sum.direction == direction) {
        (sum.sender, sum.receiver) = (None, None);
    }
    let total: f64 = found.iter().map(|(_, total, _)| total).sum();
    let counted: f64 = found.iter().map(|(.., counted)| counted).sum();
    let (total, counted) = (bytes_text(total), bytes_text(counted));
    let why = match what {
        EndContradiction::WarmUp => "the end counts the warm-up as well",
        EndContradiction::Wrapped => "a counter of 32 bits wrapped",
        EndContradiction::Unexplained => "nothing in the log explains the difference",
    };
    warnings.push(format!(
        "the end of the log has {total}, its intervals {counted}, which are taken: {why}"
    ));
}

/// The sum of a direction against its flows, which are taken where it contradicts them.
fn sum_against_flows(log: &mut Log, direction: Direction, warnings: &mut Vec<String>) {
    for end in ENDS {
        let flows = log.flows.iter().filter(|flow| flow.direction == direction);
        let each: Option<Vec<f64>> = flows.map(|flow| flow.end(end)?.bytes).collect();
        let Some(flows) = each.filter(|each| !each.is_empty()) else {
            continue;
        };
        let flows: f64 = flows.iter().sum();
        for sum in log.sums.iter_mut().filter(|sum| sum.direction == direction) {
            let Some(total) = sum.end(end).and_then(|count| count.bytes) else {
                continue;
            };
            if is_near(total, flows, TOLERANCE) || (total - flows).abs() < 1e6 {
                continue;
            }
            let (total, flows) = (bytes_text(total), bytes_text(flows));
            warnings.push(format!(
                "the sum of the log has {total}, its streams {flows} together, which are taken"
            ));
            *sum.end_mut(end) = None;
        }
    }
}
