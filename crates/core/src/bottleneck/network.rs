//! The network as the bottleneck of a TCP connection, and its causes.

use super::evidence::{Evidence, percent};
use super::limit::{Bottleneck, Cause, LimitedBy};
use super::time_shares::TimeShares;
use crate::readings::SenderReadings;
use crate::sample::TcpSnapshot;

/// The share of the readings from which a state counts as the usual one.
const USUALLY: f64 = 0.5;
/// The queueing delay from which a queue counts as bufferbloat, where it also doubles the round-trip time, s.
const MIN_BLOAT_S: f64 = 0.03;
/// The minimum fraction of the payload retransmitted that can limit a connection.
const MIN_LOSS: f64 = 0.001;
/// The minimum number of segments retransmitted from which their pattern is looked at.
const MIN_RETRANSMITS: u64 = 4;
/// The share of a window lost in one recovery from which losses are not independent of one another.
const MIN_BURST_SHARE: f64 = 0.25;
/// The time beside two round trips by which losses at a policer may be seen late, s: that between readings.
const READING_S: f64 = 0.02;
/// The goodput, as a multiple of what Reno reaches at the same loss, up to which that loss is the limit.
const MAX_OF_RENO: f64 = 4.0;

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
    let Some(readings) = evidence
        .measured
        .sender_readings
        .filter(|all| all.count > 0)
    else {
        return LimitedBy::new(
            Bottleneck::Network,
            format!(
                "the congestion window limited it: {outstanding} and nothing else limited it; \
                 {retransmits} segments retransmitted, {}",
                round_trips(f64::from(last.rtt_us) / 1e6, min_rtt_s(last))
            ),
        );
    };
    if readings.share(readings.queued) >= USUALLY {
        return link_limit(evidence, last, &outstanding);
    }
    // A loopback loses nothing: what is retransmitted there was late.
    if !evidence.is_loopback
        && let Some(lossy) = limited_by_loss(evidence, &readings, first, last)
    {
        return lossy;
    }
    let rtt_s = readings.mean(readings.rtt_sum_us) / 1e6;
    let trips = round_trips(rtt_s, min_rtt_s(last));
    if readings.share(readings.slow_start) >= USUALLY {
        return LimitedBy::because(
            Cause::SlowStart,
            Bottleneck::Network,
            format!(
                "slow start was still under way in {} of the readings; nothing was lost and nothing queued, {trips}",
                percent(readings.share(readings.slow_start))
            ),
        );
    }
    LimitedBy::new(
        Bottleneck::Network,
        format!(
            "the congestion window limited it: {outstanding} and nothing else limited it; \
             {retransmits} segments retransmitted, {trips}"
        ),
    )
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
            round_trips(rtt_s, min_s)
        ),
    )
}

/// The losses of a connection without a queue, where they are what limits it.
fn limited_by_loss(
    evidence: &Evidence<'_>,
    readings: &SenderReadings,
    first: &TcpSnapshot,
    last: &TcpSnapshot,
) -> Option<LimitedBy> {
    let retransmits = last.retransmits.saturating_sub(first.retransmits);
    let again = last
        .retransmitted_bytes?
        .saturating_sub(first.retransmitted_bytes?);
    let sent = last.bytes_sent?.saturating_sub(first.bytes_sent?);
    let loss = again as f64 / sent.max(1) as f64;
    if loss < MIN_LOSS || retransmits < MIN_RETRANSMITS {
        return None;
    }
    let rtt_s = readings.mean(readings.rtt_sum_us) / 1e6;
    let lost = format!(
        "{retransmits} segments retransmitted ({:.2} %) without a queue, {}",
        loss * 100.0,
        round_trips(rtt_s, min_rtt_s(last))
    );
    if readings.max_burst_share >= MIN_BURST_SHARE {
        let (rate_bps, deviation_s) = readings.at_losses.line()?;
        let bursts = format!("{lost}, up to {} at once", readings.max_burst_segments);
        if deviation_s > 2.0 * rtt_s + READING_S {
            return Some(LimitedBy::new(
                Bottleneck::Network,
                format!(
                    "{bursts}; cannot tell a policer, a queue too short to be seen and random loss apart, because what was \
                     delivered between losses keeps to no rate"
                ),
            ));
        }
        return Some(LimitedBy::because(
            Cause::Policer,
            Bottleneck::Network,
            format!(
                "{bursts}, and what was delivered between losses keeps to {:.2} Mbit/s (a policer, or a queue too short to \
                 be seen)",
                rate_bps / 1e6
            ),
        ));
    }
    let reno_bps = f64::from(last.mss.max(1)) * 8.0 / rtt_s.max(1e-6) * (1.5 / loss).sqrt();
    let goodput_bps = evidence.measured.goodput_bps();
    (goodput_bps <= MAX_OF_RENO * reno_bps).then(|| {
        LimitedBy::because(
            Cause::RandomLoss,
            Bottleneck::Network,
            format!(
                "{lost}, a few at a time; Reno reaches {:.2} Mbit/s at such a loss",
                reno_bps / 1e6
            ),
        )
    })
}

fn min_rtt_s(last: &TcpSnapshot) -> f64 {
    f64::from(last.min_rtt_us.unwrap_or(last.rtt_us)) / 1e6
}

fn round_trips(rtt_s: f64, min_s: f64) -> String {
    format!("rtt {:.2} ms (min {:.2} ms)", rtt_s * 1e3, min_s * 1e3)
}
