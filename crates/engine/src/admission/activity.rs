//! The activity of a client, by which its place gives way to others or does not.

use caudal_sys::clock::monotonic_ns;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The time for which a client that has said what it is for may be silent before its place gives way, ns.
const MAX_SILENCE_NS: u64 = 5_000_000_000;
/// The value of a client whose test runs.
const TESTING: u64 = u64::MAX;

/// The activity of a client.
#[derive(Debug)]
pub struct PlaceActivity {
    /// The time from which its place may be given to another, ns of the monotonic clock.
    gives_way_ns: AtomicU64,
    is_given_up: AtomicBool,
}

impl PlaceActivity {
    /// A client that has `patience_ns` to say what it is for.
    pub(super) fn opening(patience_ns: u64) -> Self {
        Self {
            gives_way_ns: AtomicU64::new(monotonic_ns().saturating_add(patience_ns)),
            is_given_up: AtomicBool::new(false),
        }
    }

    /// Takes note that its test runs.
    pub(crate) fn test_begins(&self) {
        self.gives_way_ns.store(TESTING, Relaxed);
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
