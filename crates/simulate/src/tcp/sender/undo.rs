//! Undoing reductions that turn out to be spurious.

use super::super::window::Window;

/// The state to restore if a reduction turns out to be spurious.
#[derive(Debug, Clone, Copy)]
pub(super) struct UndoState {
    /// The first unacknowledged sequence number at the reduction.
    from: u64,
    /// Retransmissions that the receiver has not reported as duplicates; `None` before the first.
    outstanding: Option<u64>,
    cwnd: u64,
    ssthresh: u64,
}

impl UndoState {
    /// The state before a reduction of `window`, when `from` is the first unacknowledged sequence number.
    pub(super) const fn new(from: u64, window: &Window) -> Self {
        Self {
            from,
            outstanding: None,
            cwnd: window.cwnd,
            ssthresh: window.ssthresh,
        }
    }

    pub(super) fn count_retransmission(&mut self) {
        self.outstanding = Some(self.outstanding.unwrap_or(0) + 1);
    }

    /// Counts a duplicate that ends at `end`, reported when everything before `next` has been sent (RFC 2883).
    pub(super) fn count_duplicate(&mut self, end: u64, next: u64) {
        if end > self.from && end <= next {
            self.outstanding = self.outstanding.map(|count| count.saturating_sub(1));
        }
    }

    /// `true` when the receiver has reported every retransmission as a duplicate.
    pub(super) fn all_duplicates(&self) -> bool {
        self.outstanding == Some(0)
    }

    /// Restores the window.
    pub(super) fn restore(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.cwnd);
        window.ssthresh = window.ssthresh.max(self.ssthresh);
    }
}
