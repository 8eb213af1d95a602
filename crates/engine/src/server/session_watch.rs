//! The conditions under which a server ends a running test. Time is an argument.

use crate::workload::ServerEnding;

/// The time after the client's stop in which its data may still arrive, ns.
const TRAILING_NS: u64 = 3_000_000_000;

/// The reason why a server ends a test by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionStop {
    /// The client did not end the test.
    Overdue,
    /// The test made no progress for this long, ns.
    Idle(u64),
}

impl std::fmt::Display for SessionStop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Overdue => f.write_str("the client did not end the test in time"),
            Self::Idle(ns) => write!(f, "no progress for {} s", ns / 1_000_000_000),
        }
    }
}

/// The watch over a running test.
#[derive(Debug)]
pub(super) struct SessionWatch {
    start_ns: u64,
    ending: ServerEnding,
    progress: u64,
    progress_ns: u64,
    trailing_until_ns: Option<u64>,
}

impl SessionWatch {
    /// The watch over a test that started at `start_ns`.
    pub(super) const fn new(start_ns: u64, ending: ServerEnding) -> Self {
        Self {
            start_ns,
            ending,
            progress: 0,
            progress_ns: start_ns,
            trailing_until_ns: None,
        }
    }

    /// Takes note that the client's sending is over.
    pub(super) fn client_stopped(&mut self, now_ns: u64) {
        self.trailing_until_ns.get_or_insert(now_ns + TRAILING_NS);
    }

    /// `true` when the test is over: the client's sending is, and the server's part is as well or had its time.
    pub(super) fn is_over(&self, now_ns: u64, is_part_over: bool) -> bool {
        self.trailing_until_ns
            .is_some_and(|until| is_part_over || now_ns >= until)
    }

    /// The reason for which the server is to end the test now.
    pub(super) fn stop_reason(&mut self, now_ns: u64, progress: u64) -> Option<SessionStop> {
        let is_past = |after: Option<u64>| {
            after.is_some_and(|after| now_ns >= self.start_ns.saturating_add(after))
        };
        if is_past(self.ending.overdue_ns) {
            return Some(SessionStop::Overdue);
        }
        if progress != self.progress {
            (self.progress, self.progress_ns) = (progress, now_ns);
        }
        let is_idle = now_ns >= self.progress_ns.saturating_add(self.ending.idle_ns);
        is_idle.then_some(SessionStop::Idle(self.ending.idle_ns))
    }

    /// The time at which the watch is to be looked at again.
    pub(super) fn due_ns(&self) -> u64 {
        let after_start =
            |after: Option<u64>| after.map(|after| self.start_ns.saturating_add(after));
        [after_start(self.ending.overdue_ns), self.trailing_until_ns]
            .into_iter()
            .flatten()
            .fold(
                self.progress_ns.saturating_add(self.ending.idle_ns),
                u64::min,
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDING: ServerEnding = ServerEnding {
        overdue_ns: Some(2000),
        idle_ns: 100,
    };

    #[test]
    fn a_test_without_progress_is_ended() {
        let mut watch = SessionWatch::new(0, ENDING);
        assert_eq!(watch.stop_reason(99, 0), None);
        assert_eq!(watch.stop_reason(100, 1), None);
        assert_eq!(watch.due_ns(), 200);
        assert_eq!(watch.stop_reason(199, 1), None);
        assert_eq!(watch.stop_reason(200, 1), Some(SessionStop::Idle(100)));
    }

    #[test]
    fn a_test_that_its_client_does_not_end_is_ended() {
        let mut watch = SessionWatch::new(500, ENDING);
        assert_eq!(watch.stop_reason(2499, 1), None);
        assert_eq!(watch.stop_reason(2500, 2), Some(SessionStop::Overdue));
    }

    #[test]
    fn a_test_is_over_when_both_parts_are_or_trailing_data_had_its_time() {
        let mut watch = SessionWatch::new(0, ENDING);
        assert!(!watch.is_over(10, true));
        watch.client_stopped(10);
        watch.client_stopped(20);
        assert!(watch.is_over(10, true));
        assert!(!watch.is_over(10, false));
        assert!(watch.is_over(10 + TRAILING_NS, false));
    }
}
