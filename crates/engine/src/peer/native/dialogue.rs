//! The client's side of a running test: what is sent when, and how long is waited. Time is an argument.

/// The time after the end of a test in which its last data may arrive, ns.
pub(super) const TRAILING_NS: u64 = 1_500_000_000;
/// The time the server may take to report once all is over, ns.
const REPORT_NS: u64 = 2 * TRAILING_NS + 10_000_000_000;
/// Round trips by which it may take longer.
const REPORT_RTTS: u64 = 4;
/// The time the server may take to report after an interrupt, ns.
const INTERRUPTED_NS: u64 = 2 * TRAILING_NS;
/// The time the server may take to start, ns.
const START_NS: u64 = 10_000_000_000;
/// The interval at which an interrupted test looks for a second interrupt, ns.
const SECOND_INTERRUPT_NS: u64 = 50_000_000;

/// The stop that is to be sent to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopKind {
    /// This end's sending is over; the server's goes on to its own end.
    WhenDone,
    /// The server's sending is to end now as well.
    Immediate,
}

/// The state of a running test at the client.
#[derive(Debug)]
pub(super) struct TestDialogue {
    deadline_ns: Option<u64>,
    /// The time that answers may take beyond the usual, ns.
    patience_ns: u64,
    has_started: bool,
    is_interrupted: bool,
    is_over: bool,
}

impl TestDialogue {
    /// A test whose start was requested at `now_ns`, and whose answers may take `patience_ns` beyond the usual.
    pub(super) const fn new(now_ns: u64, patience_ns: u64) -> Self {
        Self {
            deadline_ns: Some(now_ns + START_NS + patience_ns),
            patience_ns,
            has_started: false,
            is_interrupted: false,
            is_over: false,
        }
    }

    /// Takes note that the server has started.
    pub(super) const fn started(&mut self) {
        if !self.has_started && !self.is_interrupted && !self.is_over {
            self.deadline_ns = None;
        }
        self.has_started = true;
    }

    /// Takes note of the user's interrupt: the stop to send, the first time.
    pub(super) const fn interrupted(&mut self, now_ns: u64) -> Option<StopKind> {
        if self.is_interrupted {
            return None;
        }
        self.is_interrupted = true;
        self.deadline_ns = Some(now_ns + INTERRUPTED_NS);
        Some(StopKind::Immediate)
    }

    /// Takes note that this end's part is over: `true` the first time. A round trip takes `rtt_ns` by then.
    pub(super) const fn over(&mut self, now_ns: u64, rtt_ns: u64) -> bool {
        if self.is_over {
            return false;
        }
        self.is_over = true;
        // The stop and the report may wait in the queues that the test has filled.
        self.deadline_ns = Some(now_ns + REPORT_NS + self.patience_ns + REPORT_RTTS * rtt_ns);
        true
    }

    /// The stop to send when this end's part is over: none when the server was stopped already, unless it needs
    /// the number of datagrams that were sent.
    pub(super) const fn final_stop(&self, has_datagrams: bool) -> Option<StopKind> {
        match (self.is_interrupted, has_datagrams) {
            (false, _) => Some(StopKind::WhenDone),
            (true, true) => Some(StopKind::Immediate),
            (true, false) => None,
        }
    }

    /// `true` once the server has started.
    pub(super) const fn has_started(&self) -> bool {
        self.has_started
    }

    /// `true` once this end's part is over.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// `true` once the user has interrupted the test.
    pub(super) const fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// `true` when the server has not started, or not reported, in time.
    pub(super) fn is_expired(&self, now_ns: u64) -> bool {
        self.deadline_ns.is_some_and(|deadline| now_ns >= deadline)
    }

    /// `true` when the server did not start in time.
    pub(super) const fn is_start_missing(&self) -> bool {
        !self.has_started && !self.is_interrupted && !self.is_over
    }

    /// The time the server may take to start, s.
    pub(super) const fn start_timeout_s(&self) -> u64 {
        (START_NS + self.patience_ns) / 1_000_000_000
    }

    /// The time until which to wait for messages, given those at which a heartbeat and the workload are due.
    pub(super) fn wait_until_ns(
        &self,
        now_ns: u64,
        heartbeat_ns: u64,
        workload_ns: Option<u64>,
    ) -> u64 {
        // The first interrupt stays readable; a second is found by looking.
        let second = self.is_interrupted.then_some(now_ns + SECOND_INTERRUPT_NS);
        [workload_ns, self.deadline_ns, second]
            .into_iter()
            .flatten()
            .fold(heartbeat_ns, u64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_server_that_does_not_start_is_given_up_after_ten_seconds() {
        let mut dialogue = TestDialogue::new(0, 0);
        assert!(!dialogue.is_expired(9 * SECOND));
        assert!(dialogue.is_expired(10 * SECOND) && dialogue.is_start_missing());
        dialogue.started();
        assert!(!dialogue.is_expired(100 * SECOND));
    }

    #[test]
    fn the_first_interrupt_stops_the_server_and_limits_the_wait_for_its_report() {
        let mut dialogue = TestDialogue::new(0, 0);
        dialogue.started();
        assert_eq!(dialogue.interrupted(SECOND), Some(StopKind::Immediate));
        assert_eq!(dialogue.interrupted(SECOND), None);
        assert!(dialogue.is_expired(4 * SECOND));
        assert_eq!(dialogue.final_stop(false), None);
        assert_eq!(dialogue.final_stop(true), Some(StopKind::Immediate));
        assert_eq!(
            dialogue.wait_until_ns(SECOND, 2 * SECOND, None),
            SECOND + SECOND_INTERRUPT_NS
        );
    }

    #[test]
    fn a_part_that_is_over_ends_once_and_waits_for_the_report() {
        let mut dialogue = TestDialogue::new(0, 0);
        dialogue.started();
        assert!(dialogue.over(SECOND, 0) && !dialogue.over(2 * SECOND, 0));
        assert_eq!(dialogue.final_stop(false), Some(StopKind::WhenDone));
        assert!(!dialogue.is_expired(13 * SECOND) && dialogue.is_expired(14 * SECOND));
        assert!(!dialogue.is_start_missing());
    }

    #[test]
    fn a_slow_path_has_more_time_for_its_answers() {
        let mut dialogue = TestDialogue::new(0, 5 * SECOND);
        assert!(!dialogue.is_expired(14 * SECOND) && dialogue.is_expired(15 * SECOND));
        dialogue.started();
        dialogue.over(0, 2 * SECOND);
        assert!(!dialogue.is_expired(25 * SECOND) && dialogue.is_expired(26 * SECOND));
    }

    #[test]
    fn the_wait_ends_with_whatever_is_due_first() {
        let mut dialogue = TestDialogue::new(0, 0);
        dialogue.started();
        assert_eq!(dialogue.wait_until_ns(0, 7, Some(5)), 5);
        assert_eq!(dialogue.wait_until_ns(0, 3, Some(5)), 3);
        dialogue.over(0, 0);
        assert_eq!(dialogue.wait_until_ns(0, u64::MAX, None), 13 * SECOND);
    }
}
