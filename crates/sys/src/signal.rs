//! Signals to this process.

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};

use crate::raw::number;

/// The number of signals received. A handler has no arguments of its own, so this has to be a static.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// The eventfd to which the handler writes; -1 before there is one.
static EVENTFD: AtomicI32 = AtomicI32::new(-1);

/// The requests to stop this process (`SIGINT`, `SIGTERM`, `SIGHUP`): their number, and a descriptor to wait on.
#[derive(Debug)]
pub struct Interrupt {
    eventfd: OwnedFd,
}

impl Interrupt {
    /// Installs handlers that count `SIGINT`, `SIGTERM` and `SIGHUP` instead of ending the process; further calls have no effect. A `SIGHUP`
    /// that is ignored, as nohup(1) has it, stays ignored.
    ///
    /// System calls that are waiting are restarted, so wait on [`Interrupt::fd`] as well.
    ///
    /// # Errors
    /// `EMFILE` and `ENFILE` without a free descriptor.
    pub fn install() -> io::Result<&'static Self> {
        static INSTALLED: OnceLock<Interrupt> = OnceLock::new();
        if let Some(installed) = INSTALLED.get() {
            return Ok(installed);
        }
        let eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let installed = INSTALLED.get_or_init(|| Self { eventfd });
        EVENTFD.store(installed.eventfd.as_raw_fd(), Ordering::Release);
        let hangup = (!is_ignored(libc::SIGHUP)?).then_some(libc::SIGHUP);
        for signal in [libc::SIGINT, libc::SIGTERM].into_iter().chain(hangup) {
            set_action(
                signal,
                count_signal as extern "C" fn(c_int) as libc::sighandler_t,
            )?;
        }
        Ok(installed)
    }

    /// The number of such signals since the first [`Interrupt::install`].
    pub fn count(&self) -> u32 {
        COUNT.load(Ordering::Acquire)
    }

    /// A descriptor that becomes readable with the first signal and stays so; only to be waited on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }
}

/// Does to this process what `^C` does.
pub fn interrupt_this_process() {
    let _ = kill_process(getpid(), Signal::INT);
}

/// Stops this process and its group, as `^Z` does, until they are continued.
///
/// Source: signal(7), `SIGTSTP`.
pub fn stop_this_job() {
    let _ = kill_current_process_group(Signal::TSTP);
}

/// Makes writing to a closed connection an error (`EPIPE`) for the whole process, instead of ending it.
///
/// This is the default of Rust programs. Needed where `sendfile` and `splice` are used from another start, as
/// those calls have no flag for it.
///
/// # Errors
/// Any error of sigaction(2).
pub fn ignore_sigpipe() -> io::Result<()> {
    set_action(libc::SIGPIPE, libc::SIG_IGN)
}

/// Ignores the signals of the terminal (`SIGINT`, `SIGQUIT`), which are for the program this process waits for.
///
/// # Errors
/// Any error of sigaction(2).
pub fn ignore_terminal_signals() -> io::Result<()> {
    set_action(libc::SIGINT, libc::SIG_IGN)?;
    set_action(libc::SIGQUIT, libc::SIG_IGN)
}

/// The handler: atomic operations and a write, which signal-safety(7) allows.
extern "C" fn count_signal(_signal: c_int) {
    // SAFETY: the location of this thread's `errno` is valid for as long as the thread runs.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    COUNT.fetch_add(1, Ordering::Release);
    let one = 1_u64.to_ne_bytes();
    // SAFETY: `one` is readable for its length; a write to -1 fails without effect.
    unsafe {
        libc::write(
            EVENTFD.load(Ordering::Acquire),
            one.as_ptr().cast(),
            one.len(),
        )
    };
    *errno = before;
}

fn is_ignored(signal: c_int) -> io::Result<bool> {
    // SAFETY: the structure is made of integers and addresses, for which all zero bits are a value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    // SAFETY: `action` is live and writable, and nothing is set.
    number(unsafe { libc::sigaction(signal, ptr::null(), &mut action) })?;
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

fn set_action(signal: c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: the structure is made of integers and addresses, for which all zero bits are a value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `handler` is `SIG_IGN`, `SIG_DFL` or a handler with one argument, as `sa_flags` announces.
    number(unsafe { libc::sigaction(signal, &action, ptr::null_mut()) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::poll_readable;

    #[test]
    fn a_signal_is_counted_and_makes_the_descriptor_readable() -> io::Result<()> {
        let interrupt = Interrupt::install()?;
        let before = interrupt.count();
        // SAFETY: the handler for the signal is installed, and only counts.
        unsafe { libc::raise(libc::SIGINT) };
        assert_eq!(interrupt.count(), before + 1);
        assert_eq!(poll_readable(&[interrupt.fd()], None)?, [true]);
        assert!(ptr::eq(interrupt, Interrupt::install()?));
        Ok(())
    }

    #[test]
    fn writing_to_a_closed_pipe_is_an_error_and_does_not_end_the_process() -> io::Result<()> {
        ignore_sigpipe()?;
        let (reader, mut writer) = io::pipe()?;
        drop(reader);
        let refusal = io::Write::write(&mut writer, &[1]).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    }
}
