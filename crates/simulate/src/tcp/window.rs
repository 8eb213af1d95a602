//! The congestion window and what makes it grow.

/// The congestion window and the slow-start threshold, in segments (RFC 5681).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// Segments acknowledged since the window last grew by one.
    credit: u64,
}

/// Segments that may be sent before anything is known of the path (RFC 6928).
pub(crate) const INITIAL_CWND: u64 = 10;
/// Beyond this, an arithmetic rather than a network is the limit.
const MOST: u64 = 1 << 30;

impl Window {
    pub(crate) const fn new(cwnd: u64) -> Self {
        Self {
            cwnd,
            ssthresh: u64::MAX,
            credit: 0,
        }
    }

    pub(crate) const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by a segment for each one acknowledged, up to the threshold, and gives those left over.
    pub(crate) fn slow_start(&mut self, acknowledged: u64) -> u64 {
        let grown = (self.cwnd + acknowledged).min(self.ssthresh).min(MOST);
        let used = grown - self.cwnd;
        self.cwnd = grown;
        acknowledged - used
    }

    /// Grows by one segment for every `every` acknowledged.
    ///
    /// Source: `tcp_cong_avoid_ai()` in Linux net/ipv4/tcp_cong.c.
    pub(crate) fn grow(&mut self, every: u64, acknowledged: u64) {
        let every = every.max(1);
        if self.credit >= every {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit += acknowledged;
        if self.credit >= every {
            self.cwnd += self.credit / every;
            self.credit %= every;
        }
        self.cwnd = self.cwnd.min(MOST);
    }

    /// Starts to count anew what makes the window grow.
    pub(crate) const fn forget_credit(&mut self) {
        self.credit = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_and_stops_at_the_threshold() {
        let mut window = Window::new(10);
        window.ssthresh = 25;
        assert_eq!((window.slow_start(10), window.cwnd), (0, 20));
        assert_eq!((window.slow_start(20), window.cwnd), (15, 25));
        assert!(!window.in_slow_start());
    }

    #[test]
    fn avoidance_adds_a_segment_for_a_window_acknowledged() {
        let mut window = Window::new(10);
        for _ in 0..5 {
            window.grow(10, 2);
        }
        assert_eq!(window.cwnd, 11);
    }
}
