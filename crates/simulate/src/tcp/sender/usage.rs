//! Congestion window validation: whether the window or the application limits the sender (RFC 7661).

use super::super::window::Window;

/// The use of the congestion window in the current round trip (`tcp_cwnd_validate()` in Linux).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CwndUsage {
    /// Set when the window was used up.
    is_used_up: bool,
    /// The largest number of unacknowledged segments.
    max_outstanding: u64,
    /// The sequence number at which the round trip ends.
    round_end: u64,
}

impl CwndUsage {
    /// `true` when the window is the limit (`tcp_is_cwnd_limited()` in Linux).
    pub(super) fn is_limiting(&self, window: &Window) -> bool {
        self.is_used_up || (window.in_slow_start() && window.cwnd < 2 * self.max_outstanding)
    }

    /// Updates the use after sending; `una` and `next` are the first unacknowledged and the next sequence number.
    pub(super) fn update(&mut self, is_used_up: bool, outstanding: u64, una: u64, next: u64) {
        if una >= self.round_end
            || is_used_up
            || (!self.is_used_up && outstanding > self.max_outstanding)
        {
            self.is_used_up = is_used_up;
            self.max_outstanding = outstanding;
            self.round_end = next;
        }
    }
}
