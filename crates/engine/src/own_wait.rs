//! The waits of a thread that watches over a test: whether it woke up in time.

use caudal_analysis::episode::WatchReading;
use caudal_sys::clock::{CpuClock, monotonic_ns, suspended_ns, wall_offset_ns};
use caudal_sys::host;

/// Maximum time between two looks, ns.
const LOOK_NS: u64 = 100_000_000;

/// The waits of the calling thread.
pub(crate) struct OwnWait {
    cpu: CpuClock,
    /// The last look: the thread ran then.
    looked_ns: u64,
    waited_from_ns: u64,
    due_ns: u64,
}

impl OwnWait {
    /// The waits of this thread, from `now_ns` of the monotonic clock on.
    pub(crate) fn of_this_thread(now_ns: u64) -> Self {
        Self {
            cpu: CpuClock::of_this_thread(),
            looked_ns: now_ns,
            waited_from_ns: now_ns,
            due_ns: now_ns,
        }
    }

    /// Begins to wait: until `until_ns`, or the next look if that is earlier.
    pub(crate) fn wait_until_ns(&mut self, until_ns: u64) -> u64 {
        self.wait_from(monotonic_ns(), until_ns)
    }

    fn wait_from(&mut self, now_ns: u64, until_ns: u64) -> u64 {
        // A thread may be stopped between its waits as well: the wait is as old as the look then, and over at once.
        let is_late = now_ns.saturating_sub(self.looked_ns) > LOOK_NS;
        self.waited_from_ns = if is_late { self.looked_ns } else { now_ns };
        self.due_ns = until_ns.min(self.waited_from_ns + LOOK_NS);
        self.due_ns
    }

    /// The look at `now_ns`, after the wait, with nothing of the peer in it.
    pub(crate) fn reading(&mut self, now_ns: u64) -> WatchReading {
        self.looked_ns = now_ns;
        WatchReading {
            waited_from_ns: self.waited_from_ns,
            due_ns: self.due_ns,
            now_ns,
            heard_ns: 0,
            acknowledged_ns: None,
            cpu_wait_ns: self.cpu.waited().map(|waited| {
                // A thread that a quota holds back is not ready to run by the scheduler's account.
                waited.as_nanos() as u64 + host::throttled_ns().unwrap_or(0)
            }),
            suspended_ns: Some(suspended_ns()),
            wall_offset_ns: wall_offset_ns(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_stop_between_two_waits_is_one_of_the_wait_that_follows() {
        let mut wait = OwnWait::of_this_thread(1000 * MS);
        assert_eq!(wait.wait_from(1001 * MS, u64::MAX), 1101 * MS);
        let usual = wait.reading(1101 * MS);
        assert_eq!((usual.waited_from_ns, usual.due_ns), (1001 * MS, 1101 * MS));
        // Stopped for 700 ms before the next wait began.
        assert_eq!(wait.wait_from(1801 * MS, u64::MAX), 1201 * MS);
        let late = wait.reading(1801 * MS);
        assert_eq!((late.waited_from_ns, late.due_ns), (1101 * MS, 1201 * MS));
        assert_eq!(wait.wait_from(1802 * MS, 1850 * MS), 1850 * MS);
    }
}
