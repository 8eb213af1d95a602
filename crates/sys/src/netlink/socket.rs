//! A socket of one netlink protocol.

use crate::raw;
use socket2::{Domain, Protocol, Socket, Type};
use std::ffi::c_int;
use std::io;
use std::time::Duration;

/// The length of a `struct nlmsghdr`.
const HEADER: usize = 16;

/// A socket of one netlink protocol, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub(super) struct NetlinkSocket(Socket);

impl NetlinkSocket {
    /// A socket of `protocol`, such as `NETLINK_ROUTE`, in the namespace of the calling thread.
    ///
    /// # Errors
    /// Any error of socket(2).
    pub(super) fn open(protocol: c_int) -> io::Result<Self> {
        let domain = Domain::from(libc::AF_NETLINK);
        let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(protocol)))?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self(socket))
    }

    /// Sends one request and returns the replies, each without its `struct nlmsghdr`.
    ///
    /// # Errors
    /// The error with which the kernel answers; `InvalidData` for a message that ends early; any error of send(2) and recv(2).
    pub(super) fn request(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let flags = (libc::NLM_F_REQUEST | flags) as u16;
        let mut message = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&kind.to_ne_bytes());
        message.extend_from_slice(&flags.to_ne_bytes());
        message.extend_from_slice(&[0; 8]);
        message.extend_from_slice(body);
        self.0.send(&message)?;
        let is_multipart = c_int::from(flags) & (libc::NLM_F_DUMP | libc::NLM_F_ACK) != 0;
        let mut replies = Vec::new();
        let mut buffer = vec![0; 65_536];
        loop {
            let length = raw::receive_with_control(&self.0, &mut buffer, 0)?.length;
            let is_last = take_replies(&buffer[..length], &mut replies)?;
            if is_last || !is_multipart {
                return Ok(replies);
            }
        }
    }
}

/// Appends the replies in what was received at once, each without its `struct nlmsghdr`; `true` when the kernel says that there
/// are no more.
fn take_replies(mut received: &[u8], replies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    while let (Some(length), Some(kind)) = (raw::u32_at(received, 0), raw::u16_at(received, 4)) {
        let payload = received
            .get(HEADER..length as usize)
            .ok_or(io::ErrorKind::InvalidData)?;
        match c_int::from(kind) {
            libc::NLMSG_DONE => return Ok(true),
            libc::NLMSG_ERROR => {
                return match raw::u32_at(payload, 0).unwrap_or(0).cast_signed() {
                    0 => Ok(true),
                    error => Err(io::Error::from_raw_os_error(error.saturating_neg())),
                };
            }
            _ => replies.push(payload.to_vec()),
        }
        received = received
            .get((length as usize).next_multiple_of(4)..)
            .unwrap_or_default();
    }
    Ok(false)
}

/// A connection to rtnetlink, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink(NetlinkSocket);

impl Netlink {
    /// A connection to the namespace of the calling thread.
    ///
    /// # Errors
    /// Any error of socket(2).
    pub fn open() -> io::Result<Self> {
        NetlinkSocket::open(libc::NETLINK_ROUTE).map(Self)
    }

    /// Sends one request and returns the replies, each without its `struct nlmsghdr`.
    pub(crate) fn request(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.request(kind, flags, body)
    }

    /// Sends one request for a change and waits for its acknowledgement.
    pub(super) fn request_change(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<()> {
        self.request(kind, flags | libc::NLM_F_ACK, body).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: c_int, payload: &[u8]) -> Vec<u8> {
        let mut message = ((HEADER + payload.len()) as u32).to_ne_bytes().to_vec();
        message.extend_from_slice(&(kind as u16).to_ne_bytes());
        message.resize(HEADER, 0);
        message.extend_from_slice(payload);
        message.resize(message.len().next_multiple_of(4), 0);
        message
    }

    fn taken(received: &[u8]) -> (Result<bool, Option<i32>>, Vec<Vec<u8>>) {
        let mut replies = Vec::new();
        let outcome = take_replies(received, &mut replies);
        (outcome.map_err(|error| error.raw_os_error()), replies)
    }

    #[test]
    fn replies_end_with_done_an_acknowledgement_or_an_error() {
        let reply = message(20, b"abcde");
        let replies = vec![b"abcde".to_vec()];
        let error = |number: i32| message(libc::NLMSG_ERROR, &number.to_ne_bytes());
        for (end, outcome) in [
            (Vec::new(), Ok(false)),
            (message(libc::NLMSG_DONE, &[]), Ok(true)),
            (error(0), Ok(true)),
            (error(-libc::ENODEV), Err(Some(libc::ENODEV))),
        ] {
            let received = [reply.clone(), end].concat();
            assert_eq!(taken(&received), (outcome, replies.clone()));
        }
    }

    #[test]
    fn a_message_that_ends_early_or_is_shorter_than_its_header_is_an_error() {
        let reply = message(20, b"abcdefgh");
        for length in 6..reply.len() {
            assert_eq!(taken(&reply[..length]).0, Err(None), "{length}");
        }
        for length in [0_u32, 15] {
            let mut short = reply.clone();
            short[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(taken(&short).0, Err(None), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_replies_or_an_error(received in prop::collection::vec(any::<u8>(), 0..200)) {
            let (_, replies) = taken(&received);
            let taken: usize = replies.iter().map(|reply| HEADER + reply.len()).sum();
            prop_assert!(taken <= received.len());
        }
    }
}
