//! The congestion window.

/// The congestion window and the slow-start threshold, in segments (RFC 5681).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    pub(crate) ssthresh: u64,
    /// Segments acknowledged since the window last grew by one (`snd_cwnd_cnt` in Linux).
    credit: u64,
}

/// The initial window in segments (RFC 6928).
pub(crate) const INITIAL_CWND: u64 = 10;
/// The largest window, which keeps the arithmetic from overflowing.
const MAX_CWND: u64 = 1 << 30;

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

    /// Grows by a segment for each acknowledged, up to the threshold; gives the number of those left over.
    pub(crate) fn slow_start(&mut self, acknowledged: u64) -> u64 {
        let grown = (self.cwnd + acknowledged).min(self.ssthresh).min(MAX_CWND);
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
        self.cwnd = self.cwnd.min(MAX_CWND);
    }

    /// Resets the count of acknowledged segments.
    pub(crate) const fn reset_credit(&mut self) {
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
    fn congestion_avoidance_adds_a_segment_for_each_window_acknowledged() {
        let mut window = Window::new(10);
        for _ in 0..5 {
            window.grow(10, 2);
        }
        assert_eq!(window.cwnd, 11);
    }
}
