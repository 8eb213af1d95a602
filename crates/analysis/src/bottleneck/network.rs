//! The network as the bottleneck of a TCP connection: a queue, what was retransmitted, slow start, or its congestion window.

use super::course::{SecondHalf, is_paced};
use super::evidence::{Evidence, FULL, percent};
use super::full_window::{limited_by_full_window, share_of_window};
use super::loss_pattern::{MIN_FULLNESS, loss_pattern};
use super::retransmissions::Retransmissions;
use super::round_trip::{min_rtt_s, round_trips};
use super::time_shares::TimeShares;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::readings::SenderReadings;
use caudal_core::sample::TcpSnapshot;

/// Minimum share of readings for a state to be the usual one.
const USUALLY: f64 = 0.5;
/// Maximum spread of a steady delivery rate, interquartile range relative to its median, and maximum part of the receiver's window for it
/// not to be what keeps it steady.
const STEADY: f64 = 0.05;
const MAX_OF_WINDOW: f64 = 0.5;
/// Minimum queueing delay of bufferbloat, s, where it also doubles the round-trip time.
const MIN_BLOAT_S: f64 = 0.03;

/// The marks of congestion that a queue made, where they are what held the window back rather than losses.
fn congestion_marks(first: &TcpSnapshot, last: &TcpSnapshot, retransmits: u64) -> Option<String> {
    let marked = last.delivered_ce?.saturating_sub(first.delivered_ce?);
    let delivered = last.delivered?.saturating_sub(first.delivered?);
    (marked > retransmits && delivered > 0).then(|| {
        let share = percent(marked as f64 / delivered as f64);
        format!("a queue on the path marks congestion: the receiver said so while {share} of the segments were acknowledged")
    })
}

/// The network as what limits a connection that nothing else did.
pub(super) fn limited_by_network(
    evidence: &Evidence<'_>,
    shares: &TimeShares,
    first: &TcpSnapshot,
    last: &TcpSnapshot,
) -> LimitedBy {
    let Some(busy) = shares.busy else {
        return LimitedBy::unknown("this kernel does not report what a connection waits for");
    };
    let retransmits = last.retransmits.saturating_sub(first.retransmits);
    let outstanding = format!("data was outstanding {} of the time", percent(busy));
    let by_congestion_window = |rtt_s: f64| {
        if let Some(marks) = congestion_marks(first, last, retransmits) {
            let times = round_trips(rtt_s, last);
            let evidence = format!(
                "{marks}, to which the congestion control answers as to losses; {outstanding}, {times}"
            );
            return LimitedBy::because(Cause::CongestionMarks, Bottleneck::Network, evidence);
        }
        LimitedBy::new(
            Bottleneck::Network,
            format!(
                "the congestion window limited it: {outstanding} and nothing else limited it; \
                 {retransmits} segments retransmitted, {}",
                round_trips(rtt_s, last)
            ),
        )
    };
    let readings = evidence.measured.sender_readings;
    let Some(readings) = readings.filter(|all| all.count > 0) else {
        return by_congestion_window(f64::from(last.rtt_us) / 1e6);
    };
    // A loopback loses nothing: what is retransmitted there was late.
    let retransmissions = Retransmissions {
        evidence,
        readings: &readings,
        first,
        last,
    };
    let retransmissions = Some(retransmissions).filter(|_| !evidence.is_loopback);
    let rtt_s = readings.mean(readings.rtt_sum_us) / 1e6;
    let pattern = loss_pattern(evidence.trace, evidence.congestion, last.mss);
    let pattern = pattern.filter(|_| retransmissions.is_some());
    // Delays that differ from segment to segment look like a queue.
    let frequent = retransmissions
        .as_ref()
        .and_then(Retransmissions::limited_by_frequent_reordering);
    frequent
        .or_else(|| {
            // Bursts that a policer drops queue at a faster link before it.
            let without_full_link = pattern.filter(|found| found.excludes_full_link)?;
            let retransmissions = retransmissions.as_ref()?;
            retransmissions.limited_by_pattern(without_full_link.pattern)
        })
        .or_else(|| {
            let is_queued = readings.share(readings.queued) >= USUALLY;
            is_queued.then(|| limited_by_queue(evidence, last, &outstanding))
        })
        .or_else(|| {
            retransmissions.and_then(|all| all.limited_by(pattern.map(|found| found.pattern)))
        })
        .or_else(|| limited_by_full_window(evidence, &readings, retransmits))
        .or_else(|| limited_by_slow_start(&readings, last))
        .or_else(|| limited_at_steady_rate(evidence, &readings, last))
        .unwrap_or_else(|| by_congestion_window(rtt_s))
}

/// The queue that round trips passed most of the time, as that of a full link before which it is.
fn limited_by_queue(evidence: &Evidence<'_>, last: &TcpSnapshot, outstanding: &str) -> LimitedBy {
    let is_even =
        || SecondHalf::of(evidence.trace).is_some_and(|half| half.fullness() >= MIN_FULLNESS);
    if evidence.both_directions && !is_even() {
        return LimitedBy::new(
            Bottleneck::Network,
            format!(
                "cannot tell how: round trips passed the queues of both directions, and the rate varied; {outstanding}"
            ),
        );
    }
    link_limit(evidence, last, outstanding)
}

/// A congestion control that sends at the rate at which the path delivers, which was steady: it needs neither a loss nor a queue.
fn limited_at_steady_rate(
    evidence: &Evidence<'_>,
    readings: &SenderReadings,
    last: &TcpSnapshot,
) -> Option<LimitedBy> {
    let second_half = SecondHalf::of(evidence.trace)?;
    let rates = &second_half.rates;
    let is_steady = rates.spread <= STEADY
        && second_half.fullness() >= FULL
        && share_of_window(evidence, readings) < MAX_OF_WINDOW;
    (is_steady && is_paced(evidence.congestion)).then(|| {
        let rtt_s = readings.mean(readings.rtt_sum_us) / 1e6;
        LimitedBy::because(
            Cause::LinkRate,
            Bottleneck::Network,
            format!(
                "the path delivered at a steady {:.2} Mbit/s in the second half, with room in all windows; {}",
                rates.usual_bps / 1e6,
                round_trips(rtt_s, last)
            ),
        )
    })
}

/// Slow start that was under way for most of the time.
fn limited_by_slow_start(readings: &SenderReadings, last: &TcpSnapshot) -> Option<LimitedBy> {
    let share = readings.share(readings.slow_start);
    let rtt_s = readings.mean(readings.rtt_sum_us) / 1e6;
    (share >= USUALLY).then(|| {
        LimitedBy::because(
            Cause::SlowStart,
            Bottleneck::Network,
            format!(
                "slow start was still under way in {} of the readings; nothing was lost and nothing queued, {}",
                percent(share),
                round_trips(rtt_s, last)
            ),
        )
    })
}

/// A full link, by the queue before it, and whether that queue is too long.
pub(super) fn link_limit(evidence: &Evidence<'_>, last: &TcpSnapshot, also: &str) -> LimitedBy {
    let min_s = min_rtt_s(last);
    let rtt_s = match evidence.measured.sender_readings {
        Some(readings) if readings.count > 0 => readings.mean(readings.rtt_sum_us) / 1e6,
        _ => f64::from(last.rtt_us) / 1e6,
    };
    let queueing_s = (rtt_s - min_s).max(0.0);
    let (cause, bloat) = if queueing_s >= min_s.max(MIN_BLOAT_S) {
        (Cause::Bufferbloat, "which is more than the path needs; ")
    } else {
        (Cause::LinkRate, "")
    };
    LimitedBy::because(
        cause,
        Bottleneck::Network,
        format!(
            "the path is full: {}, the difference is queueing, {bloat}{also}",
            round_trips(rtt_s, last)
        ),
    )
}
