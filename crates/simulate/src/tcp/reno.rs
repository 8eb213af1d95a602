//! Reno.

use super::window::Window;

/// The slow-start threshold after a loss: half the window, at least two segments (RFC 5681 section 3.1).
pub(crate) fn threshold(window: &Window) -> u64 {
    (window.cwnd / 2).max(2)
}

/// Grows the window: in slow start by a segment for each acknowledged, otherwise by one in a round trip.
pub(crate) fn grow(window: &mut Window, acknowledged: u64) {
    let remaining = if window.in_slow_start() {
        window.slow_start(acknowledged)
    } else {
        acknowledged
    };
    if remaining > 0 {
        window.grow(window.cwnd, remaining);
    }
}
