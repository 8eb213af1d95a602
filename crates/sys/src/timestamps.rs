//! Software timestamps: the times at which the kernel handed a message to the device and received one.
//!
//! They are on the wall clock and exclude the time until a program runs again, so the difference of two of them on one
//! machine is closer to the time the network took. They work for UDP and for TCP. Source: Documentation/networking/timestamping.rst.

use std::io;
use std::os::fd::AsFd;

use crate::raw;

/// Enables timestamps of the messages a socket receives, and of those that [`send_stamped`] sends.
///
/// On TCP the socket has to be connected already. The kernel enables receive timestamps shortly after the call, so
/// messages that arrive directly after the first `enable` on a machine may have none.
///
/// # Errors
/// `EINVAL` for a TCP socket that is not connected; `ENOPROTOOPT` or `EINVAL` on kernels before 4.6.
pub fn enable(socket: impl AsFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY
        | libc::SOF_TIMESTAMPING_OPT_CMSG;
    raw::set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &flags.to_ne_bytes(),
    )
}

/// Enables timestamps of the departures that are asked for one by one, and none of arrivals.
///
/// # Errors
/// Those of [`enable`].
pub fn enable_departures(socket: impl AsFd) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY
        | libc::SOF_TIMESTAMPING_OPT_CMSG;
    raw::set_option(
        socket,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &flags.to_ne_bytes(),
    )
}

/// Disables the timestamps of a socket.
///
/// # Errors
/// Any error of setsockopt(2).
pub fn disable(socket: impl AsFd) -> io::Result<()> {
    let flags = 0_u32.to_ne_bytes();
    raw::set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &flags)
}

/// Sends `payload` on a connected socket and has the kernel record its departure for [`transmit_stamp`].
///
/// # Errors
/// Any error of sendmsg(2).
pub fn send_stamped(socket: impl AsFd, payload: &[u8]) -> io::Result<usize> {
    let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes();
    raw::send_with_control(
        socket,
        payload,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &flags,
    )
}

/// Receives into `buffer` and returns the length and the time the kernel received it, ns on the wall clock.
///
/// On TCP the time is that of the last segment read from; a length of 0 is the end of the stream.
///
/// # Errors
/// `WouldBlock` when the socket's timeout has passed; `Interrupted` by a signal.
pub fn receive_stamped(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let message = raw::receive_with_control(socket, buffer, 0)?;
    Ok((message.length, software_stamp(&message)))
}

/// The time at which the latest timestamped message of [`send_stamped`] was handed to the device, ns on the wall clock.
///
/// Takes all pending timestamps and does not wait; a timestamp follows its send within microseconds unless the message
/// waits in a queue. `None` when there is none.
pub fn transmit_stamp(socket: impl AsFd) -> Option<u64> {
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    let mut latest = None;
    while let Ok(message) = raw::receive_with_control(&socket, &mut [], flags) {
        latest = software_stamp(&message).or(latest);
    }
    latest
}

fn software_stamp(message: &raw::ReceivedMessage) -> Option<u64> {
    message
        .control()
        .find_map(|(level, kind, data)| match (level, kind) {
            // `struct scm_timestamping`: the first of three times is the software's, the others are the hardware's.
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => raw::timespec_ns(data),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::realtime_ns;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::time::Duration;

    fn pairs() -> io::Result<Vec<(OwnedFd, OwnedFd)>> {
        let (near, far) = (
            UdpSocket::bind("127.0.0.1:0")?,
            UdpSocket::bind("127.0.0.1:0")?,
        );
        near.connect(far.local_addr()?)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (accepted, _) = listener.accept()?;
        Ok(vec![
            (near.into(), far.into()),
            (stream.into(), accepted.into()),
        ])
    }

    /// Over loopback the timestamp is available when the send returns, or very soon after it.
    fn stamp_soon(socket: BorrowedFd<'_>) -> Option<u64> {
        (0..100_000).find_map(|_| transmit_stamp(socket))
    }

    /// The times before, at departure, at arrival and after one message; `None` while arrivals have no timestamps.
    fn probe(near: &OwnedFd, far: &OwnedFd) -> io::Result<Option<[u64; 4]>> {
        let before = realtime_ns();
        assert_eq!(send_stamped(near, b"probe")?, 5);
        let left = stamp_soon(near.as_fd()).unwrap();
        let mut buffer = [0; 16];
        let (length, arrived) = receive_stamped(far, &mut buffer)?;
        assert_eq!(&buffer[..length], b"probe");
        Ok(arrived.map(|arrived| [before, left, arrived, realtime_ns()]))
    }

    #[test]
    fn a_message_is_timestamped_at_departure_and_at_arrival() -> io::Result<()> {
        for (near, far) in pairs()? {
            crate::udp::set_receive_timeout(&far, Some(Duration::from_secs(10)))?;
            enable(&near)?;
            enable(&far)?;
            let stamped = (0..10_000).find_map(|_| probe(&near, &far).transpose());
            let [before, left, arrived, after] = stamped.unwrap()?;
            assert!(before <= left && left <= arrived && arrived <= after);
        }
        Ok(())
    }

    #[test]
    fn an_ordinary_send_has_no_timestamp() -> io::Result<()> {
        for (near, far) in pairs()? {
            enable(&near)?;
            crate::tcp::send_some(&near, b"plain")?;
            crate::tcp::receive_some(&far, &mut [0; 16])?;
            assert_eq!(transmit_stamp(&near), None);
        }
        Ok(())
    }

    #[test]
    fn timestamps_can_be_disabled_and_enabled_again() -> io::Result<()> {
        for (near, far) in pairs()? {
            enable(&near)?;
            disable(&near)?;
            assert_eq!(send_stamped(&near, b"probe")?, 5);
            assert_eq!(receive_stamped(&far, &mut [0; 16])?, (5, None));
            enable(&near)?;
            while transmit_stamp(&near).is_some() {}
            assert_eq!(send_stamped(&near, b"again")?, 5);
            assert!(stamp_soon(near.as_fd()).is_some());
        }
        Ok(())
    }
}
