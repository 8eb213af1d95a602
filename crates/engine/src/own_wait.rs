//! The waits of a thread that watches over a test: whether it woke up in time.

use caudal_analysis::episode::WatchReading;
use caudal_sys::clock::{CpuClock, monotonic_ns, suspended_ns, wall_offset_ns};
use caudal_sys::host;

/// Maximum time between two looks, ns.
const LOOK_NS: u64 = 100_000_000;

/// The waits of the calling thread.
pub(crate) struct OwnWait {
    cpu: CpuClock,
    waited_from_ns: u64,
    due_ns: u64,
}

impl OwnWait {
    /// The waits of this thread, from `now_ns` of the monotonic clock on.
    pub(crate) fn of_this_thread(now_ns: u64) -> Self {
        Self {
            cpu: CpuClock::of_this_thread(),
            waited_from_ns: now_ns,
            due_ns: now_ns,
        }
    }

    /// Begins to wait: until `until_ns`, or the next look if that is earlier.
    pub(crate) fn wait_until_ns(&mut self, until_ns: u64) -> u64 {
        self.waited_from_ns = monotonic_ns();
        self.due_ns = until_ns.min(self.waited_from_ns + LOOK_NS);
        self.due_ns
    }

    /// The look at `now_ns`, after the wait, with nothing of the peer in it.
    pub(crate) fn reading(&self, now_ns: u64) -> WatchReading {
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
