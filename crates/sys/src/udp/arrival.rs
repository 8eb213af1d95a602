//! The time at which the kernel received the datagram read last: socket(7), `SIOCGSTAMP`.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::raw::number;

/// The time of the datagram read last, as two numbers of 64 bits. Since 5.1. Source: include/uapi/asm-generic/sockios.h.
const SIOCGSTAMPNS_NEW: libc::Ioctl = libc::_IOR::<[i64; 2]>(0x89, 0x07);

/// The time at which the kernel received the datagram that was read last from a socket, ns on the wall clock.
///
/// Reading datagrams costs nothing more for it. The first call enables these timestamps; `None` until a datagram was read after
/// it. For a datagram without a timestamp, such as one received before the first call, the kernel answers with the time now.
///
/// # Errors
/// `ENOTTY` or `EINVAL` on kernels before 5.1.
pub fn last_arrival_ns(socket: impl AsFd) -> io::Result<Option<u64>> {
    let mut time = [0_i64; 2];
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the request writes two numbers of 64 bits, and `time` is live and holds as many.
    match number(unsafe { libc::ioctl(fd, SIOCGSTAMPNS_NEW, &mut time) }) {
        Ok(_) => {
            let [seconds, nanoseconds] = time.map(|part| u64::try_from(part).ok());
            Ok(seconds
                .zip(nanoseconds)
                .map(|(seconds, nanoseconds)| seconds * 1_000_000_000 + nanoseconds))
        }
        Err(cause) if cause.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::realtime_ns;
    use crate::udp::testing::pair;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn the_arrival_of_the_datagram_read_last_lies_before_it_was_read() -> io::Result<()> {
        let (sender, receiver) = pair()?;
        assert_eq!(last_arrival_ns(&receiver)?, None);
        let wait = Duration::from_millis(2);
        // The kernel begins to take timestamps shortly after the first call.
        let waited = (0..1000).find_map(|_| {
            let before = realtime_ns();
            sender.send(b"probe").unwrap();
            thread::sleep(wait);
            let reading = realtime_ns();
            receiver.recv(&mut [0; 16]).unwrap();
            let arrived = last_arrival_ns(&receiver).unwrap().unwrap();
            assert!(before <= arrived && arrived <= realtime_ns());
            (arrived < reading).then(|| reading - arrived)
        });
        assert!(waited.is_some());
        Ok(())
    }
}
