//! Reno's congestion avoidance.

use super::window::Window;

/// The threshold after a loss: half the window, at least two segments (RFC 5681 section 3.1).
pub(crate) fn threshold(window: &Window) -> u64 {
    (window.cwnd / 2).max(2)
}

/// A segment a round trip, or one for each acknowledged in slow start.
pub(crate) fn grow(window: &mut Window, acknowledged: u64) {
    let left = if window.in_slow_start() {
        window.slow_start(acknowledged)
    } else {
        acknowledged
    };
    if left > 0 {
        window.grow(window.cwnd, left);
    }
}
