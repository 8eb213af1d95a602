//! Busy waiting for the last part of a wait, within a budget of processor time.

use caudal_sys::clock;

/// How long before an event the thread begins to poll the clock: timers wake a thread tens of microseconds late.
const LEAD_NS: u64 = 100_000;
/// Busy waiting takes at most one part in this many of all time, because hosts share the processors. Where that is not enough, deliveries
/// are late, which matters little on busy links.
const TIME_DIVISOR: u64 = 33;
/// An event this near is waited for without sleeping: a timer and a wake-up cost as much in a virtual machine.
const SHORT_NS: u64 = 10_000;
/// Maximum time for busy waiting that accumulates, ns.
const MAX_BUDGET_NS: u64 = 20_000_000;

/// The budget of busy waiting.
#[derive(Debug)]
pub(super) struct SpinBudget {
    budget_ns: u64,
    /// The time at which the budget was last increased.
    updated_ns: u64,
}

impl SpinBudget {
    /// A full budget at monotonic time `now_ns`.
    pub(super) const fn new(now_ns: u64) -> Self {
        Self {
            budget_ns: MAX_BUDGET_NS,
            updated_ns: now_ns,
        }
    }

    /// The time in nanoseconds by which to wake up before an event that is `left_ns` away: zero while the budget is exhausted, unless the event
    /// is so near that to sleep costs more.
    pub(super) fn lead_ns(&mut self, now_ns: u64, left_ns: Option<u64>) -> u64 {
        let earned = now_ns.saturating_sub(self.updated_ns) / TIME_DIVISOR;
        self.budget_ns = (self.budget_ns + earned).min(MAX_BUDGET_NS);
        self.updated_ns = now_ns;
        if self.budget_ns >= LEAD_NS {
            LEAD_NS
        } else if left_ns.is_some_and(|left_ns| left_ns <= SHORT_NS) {
            SHORT_NS
        } else {
            0
        }
    }

    /// Polls the clock until `due_ns`.
    pub(super) fn wait_until(&mut self, due_ns: u64) {
        let start = clock::monotonic_ns();
        let mut now = start;
        // The lead is an upper limit, whatever the clock does.
        while now < due_ns && now - start <= LEAD_NS {
            std::hint::spin_loop();
            now = clock::monotonic_ns();
        }
        self.budget_ns = self.budget_ns.saturating_sub(now - start);
    }
}
