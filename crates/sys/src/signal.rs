//! Being interrupted, and waiting for whichever of several descriptors speaks first.

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::raw::number;

/// How many signals came. A handler cannot be handed anything, so this has no other owner.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// Where the handler announces a signal; -1 before there is such a place.
static ANNOUNCE: AtomicI32 = AtomicI32::new(-1);

/// Whether and how often somebody asked this process to stop (`SIGINT`, `SIGTERM`).
#[derive(Debug)]
pub struct Interrupt {
    announced: OwnedFd,
}

impl Interrupt {
    /// Replaces the deadly reaction to `SIGINT` and `SIGTERM` by counting; again is no harm.
    ///
    /// Calls that were waiting go on waiting, so wait on [`Interrupt::fd`] beside the rest.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn install() -> io::Result<&'static Self> {
        static INSTALLED: OnceLock<Interrupt> = OnceLock::new();
        if let Some(installed) = INSTALLED.get() {
            return Ok(installed);
        }
        // SAFETY: the call takes two numbers and makes a new descriptor.
        let fd = number(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor was just made and has no other owner.
        let announced = unsafe { OwnedFd::from_raw_fd(fd) };
        let installed = INSTALLED.get_or_init(|| Self { announced });
        ANNOUNCE.store(installed.announced.as_raw_fd(), Ordering::Release);
        for signal in [libc::SIGINT, libc::SIGTERM] {
            react(signal, note as extern "C" fn(c_int) as libc::sighandler_t)?;
        }
        Ok(installed)
    }

    /// How many such signals came since the first [`Interrupt::install`].
    pub fn count(&self) -> u32 {
        COUNT.load(Ordering::Acquire)
    }

    /// Becomes readable with the first signal and stays so; only to be waited on.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.announced.as_fd()
    }
}

/// Makes writing to a closed connection an error (`EPIPE`) for the whole process, instead of death.
///
/// Rust programs start out so. Needed where `sendfile` and `splice` are used from another start, as
/// those calls cannot be told per call.
///
/// # Errors
/// None that is known.
pub fn ignore_sigpipe() -> io::Result<()> {
    react(libc::SIGPIPE, libc::SIG_IGN)
}

/// Kills a process; nothing happens when it is gone or not ours.
pub fn kill(process: u32) {
    send(process, libc::SIGKILL);
}

/// Asks a process to end, as ^C would; nothing happens when it is gone or not ours.
pub fn interrupt(process: u32) {
    send(process, libc::SIGINT);
}

fn send(process: u32, signal: i32) {
    if let Ok(process) = libc::pid_t::try_from(process)
        && process > 0
    {
        // SAFETY: the call takes numbers.
        unsafe { libc::kill(process, signal) };
    }
}

/// Lets signals from the terminal pass by this process: those are for the program it waits for.
///
/// # Errors
/// None that is known.
pub fn ignore_terminal() -> io::Result<()> {
    react(libc::SIGINT, libc::SIG_IGN)?;
    react(libc::SIGQUIT, libc::SIG_IGN)
}

/// Lets signals from the terminal end this process again.
///
/// # Errors
/// None that is known.
pub fn heed_terminal() -> io::Result<()> {
    react(libc::SIGINT, libc::SIG_DFL)?;
    react(libc::SIGQUIT, libc::SIG_DFL)
}

/// Makes this process the leader of a new session, out of reach of the terminal's signals.
///
/// # Errors
/// When it leads a group already.
pub fn leave_terminal() -> io::Result<()> {
    // SAFETY: the call takes nothing.
    number(unsafe { libc::setsid() }).map(drop)
}

/// Lets nobody wait any more for what this process prints: from here on it goes nowhere.
///
/// # Errors
/// When there is no `/dev/null`.
pub fn close_output() -> io::Result<()> {
    let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
    // SAFETY: both descriptors are open; 1 is the standard output, which no value here owns.
    number(unsafe { libc::dup2(nowhere.as_raw_fd(), libc::STDOUT_FILENO) }).map(drop)
}

/// Waits until a child process has ended, or at least one of `fds` can be read from, or a second is over.
///
/// # Errors
/// Whatever the kernel has against waiting.
pub fn wait_for_child(child: u32, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let timeout = Some(Duration::from_secs(1));
    // SAFETY: the call takes numbers and answers a descriptor or an error.
    let answer = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
    let Ok(fd) = i32::try_from(answer)
        .map_err(drop)
        .and_then(|fd| number(fd).map_err(drop))
    else {
        // A kernel before 5.3: look again soon.
        return poll_readable(fds, Some(Duration::from_millis(20))).map(drop);
    };
    // SAFETY: the descriptor was just opened and is owned by nobody else.
    let process = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut watched = vec![process.as_fd()];
    watched.extend_from_slice(fds);
    poll_readable(&watched, timeout).map(drop)
}

/// Waits until at least one of `fds` can be read from, has ended or failed, or the time is over.
///
/// Answers for each whether it can; all `false` means that the time is over. No `timeout` waits
/// without limit. A stamp or an error in a socket's error queue counts as failed. Signals do not
/// shorten the wait, but make [`Interrupt::fd`] readable.
///
/// # Errors
/// Whatever the kernel has against waiting.
pub fn poll_readable(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let watch = |fd: &BorrowedFd<'_>| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut watched: Vec<libc::pollfd> = fds.iter().map(watch).collect();
    loop {
        let left = deadline.map(|deadline| timespec(deadline.duration_since(Instant::now())));
        let left = left.as_ref().map_or(ptr::null(), ptr::from_ref);
        let many = watched.len() as libc::nfds_t;
        // SAFETY: the list is live and `many` long; the time is null or live; no signal mask is given.
        let answer = unsafe { libc::ppoll(watched.as_mut_ptr(), many, left, ptr::null()) };
        match number(answer) {
            Ok(_) => return Ok(watched.iter().map(|watched| watched.revents != 0).collect()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The handler: two stores and a write, all of which signal-safety(7) allows.
extern "C" fn note(_signal: c_int) {
    // SAFETY: the location of this thread's `errno` is valid for as long as the thread runs.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    COUNT.fetch_add(1, Ordering::Release);
    let one = 1_u64.to_ne_bytes();
    // SAFETY: `one` is readable for its length; a descriptor that is none fails without effect.
    unsafe {
        libc::write(
            ANNOUNCE.load(Ordering::Acquire),
            one.as_ptr().cast(),
            one.len(),
        )
    };
    *errno = before;
}

fn react(signal: c_int, reaction: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: the structure is made of integers and addresses, for which all zero bits are a value.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = reaction;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `reaction` is `SIG_IGN` or a handler of the plain kind that `sa_flags` announces.
    number(unsafe { libc::sigaction(signal, &action, ptr::null_mut()) }).map(drop)
}

fn timespec(time: Duration) -> libc::timespec {
    // SAFETY: the structure is made of integers, for which all zero bits are a value.
    let mut converted: libc::timespec = unsafe { mem::zeroed() };
    converted.tv_sec = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    converted.tv_nsec = libc::c_long::from(time.subsec_nanos() as i32);
    converted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_signal_is_counted_and_announced() -> io::Result<()> {
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
    fn only_the_descriptor_that_speaks_is_named() -> io::Result<()> {
        let (silent, speaking) = (
            UdpSocket::bind("127.0.0.1:0")?,
            UdpSocket::bind("127.0.0.1:0")?,
        );
        let both = [silent.as_fd(), speaking.as_fd()];
        assert_eq!(poll_readable(&both, Some(Duration::ZERO))?, [false, false]);
        silent.send_to(&[1], speaking.local_addr()?)?;
        assert_eq!(poll_readable(&both, None)?, [false, true]);
        Ok(())
    }

    #[test]
    fn a_closed_pipe_is_an_error_and_not_death() -> io::Result<()> {
        ignore_sigpipe()?;
        let (reader, mut writer) = io::pipe()?;
        drop(reader);
        let refusal = io::Write::write(&mut writer, &[1]).unwrap_err();
        assert_eq!(refusal.kind(), io::ErrorKind::BrokenPipe);
        Ok(())
    }
}
