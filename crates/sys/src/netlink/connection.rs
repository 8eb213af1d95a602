//! The connection to rtnetlink.

use std::ffi::c_int;
use std::io;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::raw;

/// The length of a `struct nlmsghdr`.
const HEADER: usize = 16;

/// A connection to rtnetlink, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink(Socket);

impl Netlink {
    /// A connection to the namespace of the calling thread.
    ///
    /// # Errors
    /// Any error of socket(2).
    pub fn open() -> io::Result<Self> {
        let domain = Domain::from(libc::AF_NETLINK);
        let protocol = Protocol::from(libc::NETLINK_ROUTE);
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self(socket))
    }

    /// Sends one request and returns the replies, each without its `struct nlmsghdr`.
    pub(crate) fn request(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
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
            let mut rest = &buffer[..length];
            while let (Some(length), Some(kind)) = (raw::u32_at(rest, 0), raw::u16_at(rest, 4)) {
                let payload = rest
                    .get(HEADER..length as usize)
                    .ok_or(io::ErrorKind::InvalidData)?;
                match c_int::from(kind) {
                    libc::NLMSG_DONE => return Ok(replies),
                    libc::NLMSG_ERROR => {
                        return match raw::u32_at(payload, 0).unwrap_or(0).cast_signed() {
                            0 => Ok(replies),
                            error => Err(io::Error::from_raw_os_error(-error)),
                        };
                    }
                    _ => replies.push(payload.to_vec()),
                }
                rest = rest
                    .get((length as usize).next_multiple_of(4)..)
                    .unwrap_or_default();
            }
            if !is_multipart {
                return Ok(replies);
            }
        }
    }

    /// Sends one request for a change and waits for its acknowledgement.
    pub(super) fn request_change(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<()> {
        self.request(kind, flags | libc::NLM_F_ACK, body).map(drop)
    }
}
