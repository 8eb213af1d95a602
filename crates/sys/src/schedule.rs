//! How soon the kernel lets a thread run.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::raw::number;

/// What was done so that a thread runs soon after it wakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preference {
    /// It goes before all ordinary threads (`SCHED_FIFO`).
    RealTime,
    /// Its nice value was lowered.
    Nice,
    /// Nothing: not permitted.
    None,
}

/// Lets the calling thread run as soon after it wakes as this process may ask for.
pub fn prefer_this_thread() -> Preference {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters are live; 0 is the calling thread.
    let fifo = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) };
    if number(fifo).is_ok() {
        return Preference::RealTime;
    }
    // SAFETY: the call takes numbers; 0 is the calling thread.
    let nice = unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, -10) };
    if number(nice).is_ok() {
        return Preference::Nice;
    }
    Preference::None
}

/// Kills the calling process when the thread that started it ends.
///
/// # Errors
/// None that is known.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: the call takes numbers and changes nothing but the calling process.
    number(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }).map(drop)
}

/// Lets `command` be killed when the thread that starts it ends.
pub fn bound_to_parent(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(die_with_parent) }
}

/// Raises the number of files this process may have open as far as it is allowed, and answers it.
///
/// # Errors
/// Whatever the kernel has against it.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a live local.
    number(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is a live local.
    number(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(limit.rlim_cur)
}
