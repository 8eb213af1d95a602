//! A receiver's window that is full although the kernel does not account for it as the limit.

use super::evidence::{Evidence, percent};
use caudal_core::bottleneck::{Bottleneck, LimitedBy};
use caudal_core::readings::SenderReadings;

/// Minimum share of readings with the receiver's window full for it to be the limit.
const USUALLY_FILLED: f64 = 0.5;

/// The window of the receiver, where what was in flight filled it with room in the congestion window.
///
/// A sender that paces what the window allows, as bbr does, seldom waits for it: the kernel accounts for a wait only where a
/// segment could have been sent (`tcp_write_xmit()`, net/ipv4/tcp_output.c). Source for the comparison: Zhang et al., "On the
/// Characteristics and Origins of Internet Flow Rates", 2002, section 4.
pub(super) fn limited_by_full_window(
    evidence: &Evidence<'_>,
    readings: &SenderReadings,
) -> Option<LimitedBy> {
    let share = readings.share(readings.receiver_window_filled);
    let set_by = if evidence.window_set {
        " (set by hand)"
    } else {
        ""
    };
    // A loopback has no path to fill: its window is full whenever its receiver is slower than its sender.
    (share >= USUALLY_FILLED && !evidence.is_loopback).then(|| {
        LimitedBy::new(
            Bottleneck::ReceiverWindow,
            format!(
                "it was filled in {} of the readings, with room in the congestion window; at most {} bytes{set_by}, {:.0} in \
                 flight on average",
                percent(share),
                readings.max_receiver_window_bytes,
                readings.mean(readings.in_flight_sum_bytes)
            ),
        )
    })
}
