//! The close of a connection by the other end, after this end's.

use crate::socket::is_retryable;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp as kernel;
use std::io::{self, Read};
use std::net::TcpStream;
use std::time::Duration;

/// Maximum wait for the other end to close after all data has been acknowledged.
const ACKNOWLEDGED_CLOSE: Duration = Duration::from_secs(2);
/// Interval at which the queue of unacknowledged data is checked.
const QUEUE_CHECK: Duration = Duration::from_millis(250);

/// What became of a connection that this end has half-closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerClose {
    /// The other end has closed it too, or this end waited no longer while its data was leaving.
    Closed,
    /// The other end has reset it.
    Reset,
    /// The other end has acknowledged everything and has not closed it.
    LeftOpen,
    /// So many bytes were not acknowledged, and nothing was any more: the other end does not read.
    Stalled(u32),
}

impl PeerClose {
    /// The error of a test whose other end always closes.
    pub(super) fn into_result(self) -> io::Result<()> {
        match self {
            Self::Closed => Ok(()),
            Self::Reset => Err(io::ErrorKind::ConnectionReset.into()),
            Self::LeftOpen => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it did not close the connection at the end of the test",
            )),
            Self::Stalled(bytes) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("it took no more of the last {bytes} bytes"),
            )),
        }
    }
}

/// Reads and discards until the other end has closed, so that everything sent has arrived; at most for `patience`, and for
/// half of it while nothing is acknowledged.
pub fn await_close(mut stream: &TcpStream, patience: Duration) -> PeerClose {
    let mut discarded = [0; 4096];
    let acknowledged_ns = as_ns(patience.min(ACKNOWLEDGED_CLOSE));
    let stalled_ns = as_ns(patience / 2);
    let began_ns = monotonic_ns();
    let until_ns = began_ns + as_ns(patience);
    // The queue that is left, and the time at which it was last longer.
    let (mut queued, mut changed_ns) = (u32::MAX, began_ns);
    let _ = stream.set_read_timeout(Some(QUEUE_CHECK));
    loop {
        match stream.read(&mut discarded) {
            Ok(0) => return PeerClose::Closed,
            Ok(_) => {}
            Err(cause) if is_retryable(&cause) || cause.kind() == io::ErrorKind::TimedOut => {}
            Err(_) => return PeerClose::Reset,
        }
        let now_ns = monotonic_ns();
        let queue = kernel::out_queue(stream).unwrap_or(0);
        if queue < queued {
            (queued, changed_ns) = (queue, now_ns);
        }
        let unchanged_ns = now_ns - changed_ns;
        match queue {
            0 if unchanged_ns >= acknowledged_ns => return PeerClose::LeftOpen,
            0 if now_ns >= until_ns => return PeerClose::LeftOpen,
            0 => {}
            queue if unchanged_ns >= stalled_ns => return PeerClose::Stalled(queue),
            // It leaves slowly.
            _ if now_ns >= until_ns => return PeerClose::Closed,
            _ => {}
        }
    }
}

const fn as_ns(time: Duration) -> u64 {
    time.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, TcpListener};

    /// What an end that has written `bytes` and half-closed sees within `patience` of another that does this with its connection.
    fn seen(
        bytes: usize,
        patience: Duration,
        other: impl FnOnce(TcpStream) -> Option<TcpStream>,
    ) -> io::Result<PeerClose> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        // A buffer that does not grow: else window probes go on filling it on a machine that is short of time.
        socket2::SockRef::from(&listener).set_recv_buffer_size(64 << 10)?;
        let mut near = TcpStream::connect(listener.local_addr()?)?;
        let (far, _) = listener.accept()?;
        near.set_nonblocking(true)?;
        let mut left = bytes;
        while left > 0 {
            match near.write(&vec![0; left.min(1 << 16)]) {
                Ok(count) => left -= count,
                Err(_) => break,
            }
        }
        near.set_nonblocking(false)?;
        near.shutdown(Shutdown::Write)?;
        let kept = other(far);
        let seen = await_close(&near, patience);
        drop(kept);
        Ok(seen)
    }

    #[test]
    fn a_close_a_reset_and_neither_of_them_are_told_apart() -> io::Result<()> {
        let reads_and_closes = |mut far: TcpStream| {
            let _ = io::copy(&mut far, &mut io::sink());
            None
        };
        let short = Duration::from_millis(400);
        assert_eq!(seen(1000, short, reads_and_closes)?, PeerClose::Closed);
        assert_eq!(seen(1000, short, |_unread| None)?, PeerClose::Reset);
        assert_eq!(seen(1000, short, Some)?, PeerClose::LeftOpen);
        // Long enough for the queue to stop moving and then to stand for half of it.
        let stalled = seen(64 << 20, Duration::from_secs(4), Some)?;
        assert!(matches!(stalled, PeerClose::Stalled(_)), "{stalled:?}");
        Ok(())
    }
}
