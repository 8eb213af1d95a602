//! The priority at which the kernel schedules a thread.

use rustix::process::setpriority_process;
use std::io;

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

/// Has the calling thread run only when no other wants its processor (`SCHED_IDLE`).
///
/// # Errors
/// Those of sched_setscheduler(2).
pub fn lower_thread_priority() -> io::Result<()> {
    let priority: libc::c_int = 0;
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: `priority` is a live local, which is only read; 0 is the calling thread.
    let outcome = unsafe { libc::syscall(call, 0, libc::SCHED_IDLE, &raw const priority) };
    if outcome == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Raises the priority of the calling thread as far as this process is permitted to, and returns the result.
pub fn raise_thread_priority() -> ThreadPriority {
    // The kernel's struct `sched_param` is this one number. The function of musl does nothing but fail, hence the call itself.
    let priority: libc::c_int = 1;
    let call = libc::SYS_sched_setscheduler;
    // SAFETY: `priority` is a live local, which is only read; 0 is the calling thread.
    let fifo = unsafe { libc::syscall(call, 0, libc::SCHED_FIFO, &raw const priority) };
    if fifo == 0 {
        return ThreadPriority::RealTime;
    }
    // The nice value is per thread in Linux, in spite of the call's name: setpriority(2), "C library/kernel
    // differences".
    if setpriority_process(None, -10).is_ok() {
        return ThreadPriority::Raised;
    }
    ThreadPriority::Ordinary
}
