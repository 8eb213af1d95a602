//! Waiting for several descriptors at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until at least one of `fds` can be read from, has ended or failed, or the timeout has passed.
///
/// Returns for each whether it can; all `false` means that the timeout has passed. `None` waits without limit. A
/// timestamp or an error in a socket's error queue counts as failed. Signals do not shorten the wait, but make
/// [`Interrupt::fd`](crate::signal::Interrupt::fd) readable.
///
/// # Errors
/// Any error of ppoll(2) but `EINTR`.
pub fn poll_readable(fds: &[BorrowedFd<'_>], timeout: Option<Duration>) -> io::Result<Vec<bool>> {
    let watched = fds.iter().map(|fd| (*fd, PollState::Readable));
    poll_ready(watched, timeout)
}

/// The state of a descriptor that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollState {
    /// It can be read from.
    Readable,
    /// It can be written to.
    Writable,
}

/// The same as [`poll_readable`] for descriptors of which each is waited for in its own state.
///
/// # Errors
/// Any error of ppoll(2) but `EINTR`.
pub fn poll_ready<'a>(
    fds: impl IntoIterator<Item = (BorrowedFd<'a>, PollState)>,
    timeout: Option<Duration>,
) -> io::Result<Vec<bool>> {
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let mut watched: Vec<PollFd<'_>> = fds
        .into_iter()
        .map(|(fd, state)| match state {
            PollState::Readable => PollFd::from_borrowed_fd(fd, PollFlags::IN),
            PollState::Writable => PollFd::from_borrowed_fd(fd, PollFlags::OUT),
        })
        .collect();
    loop {
        let left = deadline.map(|deadline| timespec(deadline.duration_since(Instant::now())));
        match poll(&mut watched, left.as_ref()) {
            Ok(_) => {
                let is_ready = |watched: &PollFd<'_>| !watched.revents().is_empty();
                return Ok(watched.iter().map(is_ready).collect());
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    #[test]
    fn only_the_readable_descriptor_is_reported() -> io::Result<()> {
        let (silent, receiving) = (
            UdpSocket::bind("127.0.0.1:0")?,
            UdpSocket::bind("127.0.0.1:0")?,
        );
        let both = [silent.as_fd(), receiving.as_fd()];
        assert_eq!(poll_readable(&both, Some(Duration::ZERO))?, [false, false]);
        silent.send_to(&[1], receiving.local_addr()?)?;
        assert_eq!(poll_readable(&both, None)?, [false, true]);
        let each = [
            (silent.as_fd(), PollState::Writable),
            (silent.as_fd(), PollState::Readable),
        ];
        assert_eq!(poll_ready(each, None)?, [true, false]);
        Ok(())
    }
}
