//! This process and its children: signals, the end of the parent, sessions, limits.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process, pidfd_open,
    set_parent_process_death_signal, setrlimit, setsid,
};
use rustix::stdio::dup2_stdout;

use crate::poll::poll_readable;

/// Kills a process (`SIGKILL`); does nothing when it has ended or this process may not.
pub fn kill(process: u32) {
    send(process, Signal::KILL);
}

/// Interrupts a process as ^C would (`SIGINT`); does nothing when it has ended or this process may not.
pub fn interrupt(process: u32) {
    send(process, Signal::INT);
}

fn send(process: u32, signal: Signal) {
    if let Some(process) = pid(process) {
        let _ = kill_process(process, signal);
    }
}

/// Locks a file for this process alone until it is closed: `false` when another holds the lock.
///
/// # Errors
/// When the file system has no locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// The process of a positive id.
fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}

/// Kills the calling process when the thread that started it ends.
///
/// # Errors
/// Any error of prctl(2), `PR_SET_PDEATHSIG`.
pub fn set_parent_death_signal() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Arranges that `command` is killed when the thread that starts it ends.
pub fn kill_with_parent(command: &mut Command) -> &mut Command {
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(set_parent_death_signal) }
}

/// Waits until a child process has ended, at least one of `fds` can be read from, or a second has passed.
///
/// # Errors
/// Any error of ppoll(2).
pub fn wait_for_child(child: u32, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let descriptor = pid(child).and_then(|child| pidfd_open(child, PidfdFlags::empty()).ok());
    let Some(process) = descriptor else {
        // A kernel before 5.3 has no such descriptors: the caller has to look again soon.
        return poll_readable(fds, Some(Duration::from_millis(20))).map(drop);
    };
    let mut watched = vec![process.as_fd()];
    watched.extend_from_slice(fds);
    poll_readable(&watched, Some(Duration::from_secs(1))).map(drop)
}

/// Makes this process the leader of a new session, out of reach of the terminal's signals.
///
/// # Errors
/// `PermissionDenied` when it leads a process group already.
pub fn new_session() -> io::Result<()> {
    setsid()?;
    Ok(())
}

/// Redirects the standard output to `/dev/null`, so that a reader of the former one sees its end.
///
/// # Errors
/// When there is no `/dev/null`.
pub fn discard_stdout() -> io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    Ok(dup2_stdout(&null)?)
}

/// The number of files that this process may have open; `u64::MAX` for no limit.
#[must_use]
pub fn open_file_limit() -> u64 {
    let Rlimit { current, .. } = getrlimit(Resource::Nofile);
    current.unwrap_or(u64::MAX)
}

/// Raises the limit of open files of this process to its hard limit and returns it; `u64::MAX` for no limit.
///
/// # Errors
/// Any error of setrlimit(2).
pub fn raise_open_file_limit() -> io::Result<u64> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let limit = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, limit)?;
    Ok(maximum.unwrap_or(u64::MAX))
}
