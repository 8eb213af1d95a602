//! A receiver's window that is full although the kernel does not account for it as the limit.

use super::course::SecondHalf;
use super::evidence::{Evidence, percent};
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::readings::SenderReadings;

/// Minimum share of readings with the receiver's window full for it to be the limit.
const USUALLY_FILLED: f64 = 0.5;
/// Minimum and maximum ratio of what was delivered in a round trip to the receiver's window for it to be the limit where nothing was lost
/// and nothing queued.
const OF_WINDOW: std::ops::RangeInclusive<f64> = 0.7..=1.1;
/// Minimum number of retransmitted segments for losses to be the limit.
const MIN_LOST: u64 = 4;

/// The window of the receiver, where what was in flight filled it with room in the congestion window.
///
/// A sender that paces what the window allows, as bbr does, seldom waits for it: the kernel accounts for a wait only where a
/// segment could have been sent (`tcp_write_xmit()`, net/ipv4/tcp_output.c). Source for the comparison: Zhang et al., "On the
/// Characteristics and Origins of Internet Flow Rates", 2002, section 4.
pub(super) fn limited_by_full_window(
    evidence: &Evidence<'_>,
    readings: &SenderReadings,
    lost: u64,
) -> Option<LimitedBy> {
    // A loopback has no path to fill: its window is full whenever its receiver is slower than its sender.
    if evidence.is_loopback {
        return None;
    }
    let by_window = |text: String| Some(LimitedBy::new(Bottleneck::ReceiverWindow, text));
    let share = readings.share(readings.receiver_window_filled);
    let set_by = if evidence.window_set {
        " (set by hand)"
    } else {
        ""
    };
    if share >= USUALLY_FILLED {
        return by_window(format!(
            "it was filled in {} of the readings, with room in the congestion window; at most {} bytes{set_by}, {:.0} in \
             flight on average",
            percent(share),
            readings.max_receiver_window_bytes,
            readings.mean(readings.in_flight_sum_bytes)
        ));
    }
    let of_window = share_of_window(evidence, readings);
    let is_queued = readings.share(readings.queued) >= USUALLY_FILLED;
    if lost < MIN_LOST && !is_queued && OF_WINDOW.contains(&of_window) {
        return by_window(format!(
            "{} of it was delivered in each round trip, without loss and without a queue; at most {} bytes{set_by}",
            percent(of_window),
            readings.max_receiver_window_bytes
        ));
    }
    None
}

/// What was delivered in a round trip, as a part of the maximum window that the receiver advertised.
pub(super) fn share_of_window(evidence: &Evidence<'_>, readings: &SenderReadings) -> f64 {
    let started = SecondHalf::of(evidence.trace).map(|half| half.acknowledged_bps);
    let bps = started.unwrap_or_else(|| evidence.measured.goodput_bps());
    let rtt_s = readings.mean(readings.rtt_sum_us) / 1e6;
    bps / 8.0 * rtt_s / readings.max_receiver_window_bytes.max(1) as f64
}
