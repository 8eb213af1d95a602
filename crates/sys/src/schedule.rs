//! The priority at which the kernel schedules a thread.

use rustix::process::setpriority_process;

use crate::raw::number;

/// The scheduling class and priority of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadPriority {
    /// It is scheduled before all ordinary threads (`SCHED_FIFO`).
    RealTime,
    /// Its nice value is -10.
    Raised,
    /// The default.
    Ordinary,
}

/// Raises the priority of the calling thread as far as this process is permitted to, and returns the result.
pub fn raise_thread_priority() -> ThreadPriority {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameters` is a live local; 0 is the calling thread.
    let fifo = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    if number(fifo).is_ok() {
        return ThreadPriority::RealTime;
    }
    // The nice value is per thread in Linux, in spite of the call's name: setpriority(2), "C library/kernel
    // differences".
    if setpriority_process(None, -10).is_ok() {
        return ThreadPriority::Raised;
    }
    ThreadPriority::Ordinary
}
