//! The activity of a client, by which its place gives way to others or does not.

use caudal_sys::clock::monotonic_ns;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The time for which a client that has said what it is for may be silent before its place gives way, ns.
const MAX_SILENCE_NS: u64 = 5_000_000_000;
/// The time in which a test is to move something, ns: one that moves next to nothing gives way to a source without any place.
const SLOW_NS: u64 = 10_000_000_000;
/// The value of a client whose test runs.
const TESTING: u64 = u64::MAX;

/// The activity of a client.
#[derive(Debug)]
pub struct PlaceActivity {
    /// The time from which its place may be given to another, ns of the monotonic clock.
    gives_way_ns: AtomicU64,
    is_given_up: AtomicBool,
    /// What its test had moved when that was last enough, and when that was, ns; 0 where nothing is known.
    moved: AtomicU64,
    moved_ns: AtomicU64,
}

impl PlaceActivity {
    /// Payload bytes in ten seconds with which a test keeps its place.
    pub const MIN_BYTES: u64 = 10_000;
    /// Messages or connections that do.
    pub const MIN_MESSAGES: u64 = 3;

    /// A client that has `patience_ns` to say what it is for.
    pub(super) fn opening(patience_ns: u64) -> Self {
        Self {
            gives_way_ns: AtomicU64::new(monotonic_ns().saturating_add(patience_ns)),
            is_given_up: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            moved_ns: AtomicU64::new(0),
        }
    }

    /// Takes note that its test runs.
    pub(crate) fn test_begins(&self) {
        self.gives_way_ns.store(TESTING, Relaxed);
    }

    /// Takes note that its test has moved so much in all, of which `enough` in ten seconds is a test.
    pub fn test_moves(&self, moved: u64, enough: u64, now_ns: u64) {
        let is_known = self.moved_ns.load(Relaxed) > 0;
        if !is_known || moved.saturating_sub(self.moved.load(Relaxed)) >= enough {
            self.moved.store(moved, Relaxed);
            self.moved_ns.store(now_ns.max(1), Relaxed);
        }
    }

    /// The time since which its test has moved next to nothing, ns; `None` where it moves, or does not tell.
    pub(super) fn slow_since_ns(&self, now_ns: u64) -> Option<u64> {
        let moved_ns = self.moved_ns.load(Relaxed);
        let is_slow = now_ns.saturating_sub(moved_ns) >= SLOW_NS;
        (moved_ns > 0 && is_slow).then_some(moved_ns)
    }

    /// Takes note that it is not silent: something was received from it or sent to it.
    pub fn is_active(&self) {
        let gives_way_ns = monotonic_ns().saturating_add(MAX_SILENCE_NS);
        self.gives_way_ns.store(gives_way_ns, Relaxed);
    }

    /// Takes note that its place was given to another.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Relaxed);
    }

    /// The flag that is set when its place is given to another.
    pub const fn given_up(&self) -> &AtomicBool {
        &self.is_given_up
    }

    /// The time from which its place may be given to another, ns; `None` where that is not reached at `now_ns`.
    pub(super) fn gives_way_ns(&self, now_ns: u64) -> Option<u64> {
        let at_ns = self.gives_way_ns.load(Relaxed);
        (at_ns <= now_ns && at_ns != TESTING).then_some(at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_moves_next_to_nothing_is_known_after_ten_seconds() {
        let activity = PlaceActivity::opening(0);
        activity.test_begins();
        assert_eq!(activity.slow_since_ns(u64::MAX), None);
        for second in 1..=30 {
            let now_ns = second * 1_000_000_000;
            // 2000 bytes a second until 12 s, 10 afterwards.
            let moved = 2000 * second.min(12) + 10 * second;
            activity.test_moves(moved, 10_000, now_ns);
            let is_slow = activity.slow_since_ns(now_ns).is_some();
            assert_eq!(is_slow, second >= 21, "{second} s");
        }
    }

    #[test]
    fn an_opening_and_silence_give_way_after_a_while_and_a_test_never() {
        assert!(
            PlaceActivity::opening(0)
                .gives_way_ns(monotonic_ns())
                .is_some()
        );
        let activity = PlaceActivity::opening(u64::MAX / 2);
        assert_eq!(activity.gives_way_ns(monotonic_ns()), None);
        activity.is_active();
        let now_ns = monotonic_ns();
        assert_eq!(activity.gives_way_ns(now_ns), None);
        assert!(activity.gives_way_ns(now_ns + MAX_SILENCE_NS).is_some());
        activity.test_begins();
        assert_eq!(activity.gives_way_ns(u64::MAX), None);
    }
}
