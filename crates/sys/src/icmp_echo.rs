//! ICMP echo requests, and the times of their replies: ping sockets where this user may have one, else a raw socket. icmp(7), RFC 792,
//! RFC 4443.

use std::io;
use std::net::SocketAddr;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::icmp::internet_checksum;
use crate::raw;
use crate::udp::enable_receive_timestamps;

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;
/// Bytes before the content of an echo.
const HEADER: usize = 8;

/// Sends echo requests to one host and receives the replies.
#[derive(Debug)]
pub struct EchoRequester {
    socket: Socket,
    is_v6: bool,
    /// `true` for a raw socket, which receives the IP header as well (IPv4), and the replies to others.
    is_raw: bool,
    id: u16,
}

/// A reply to an echo request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EchoReply {
    /// The number of the request.
    pub sequence: u16,
    /// The content, as it was sent.
    pub content: [u8; 8],
    /// The time at which the kernel received it, ns since 1970.
    pub arrived_ns: Option<u64>,
}

impl EchoRequester {
    /// A requester to a host, whose port is not looked at. It does not block.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` where neither `net.ipv4.ping_group_range` nor `CAP_NET_RAW` permit it; `ENETUNREACH` where there is no route.
    pub fn open(host: SocketAddr, id: u16) -> io::Result<Self> {
        let is_v6 = host.is_ipv6();
        let (domain, protocol) = match is_v6 {
            true => (Domain::IPV6, Protocol::ICMPV6),
            false => (Domain::IPV4, Protocol::ICMPV4),
        };
        let (socket, is_raw) = match Socket::new(domain, Type::DGRAM, Some(protocol)) {
            Ok(socket) => (socket, false),
            Err(_) => (Socket::new(domain, Type::RAW, Some(protocol))?, true),
        };
        socket.connect(&SockAddr::from(host))?;
        socket.set_nonblocking(true)?;
        enable_receive_timestamps(&socket)?;
        Ok(Self {
            socket,
            is_v6,
            is_raw,
            id,
        })
    }

    /// Sends a request with this number and content.
    ///
    /// # Errors
    /// Any error of send(2).
    pub fn send(&self, sequence: u16, content: [u8; 8]) -> io::Result<()> {
        let kind = match self.is_v6 {
            true => ECHO_REQUEST_V6,
            false => ECHO_REQUEST,
        };
        let mut message = [0; HEADER + 8];
        message[0] = kind;
        message[4..6].copy_from_slice(&self.id.to_be_bytes());
        message[6..8].copy_from_slice(&sequence.to_be_bytes());
        message[HEADER..].copy_from_slice(&content);
        // Of a ping socket, and for ICMPv6, the kernel does it.
        if self.is_raw && !self.is_v6 {
            let sum = internet_checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        self.socket.send(&message).map(drop)
    }

    /// The next reply that has arrived; `None` where there is none. What is no reply to this requester is left out.
    ///
    /// # Errors
    /// Any error of recvmsg(2) but `EAGAIN`.
    pub fn receive(&self) -> io::Result<Option<EchoReply>> {
        let mut buffer = [0; 256];
        loop {
            let message = match raw::receive_with_control(&self.socket, &mut buffer, 0) {
                Ok(message) => message,
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(cause) => return Err(cause),
            };
            let arrived_ns =
                message
                    .control()
                    .find_map(|(level, kind, data)| match (level, kind) {
                        (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => raw::timespec_ns(data),
                        _ => None,
                    });
            let received = buffer.get(..message.length).unwrap_or_default();
            if let Some((sequence, content)) = self.reply(received) {
                return Ok(Some(EchoReply {
                    sequence,
                    content,
                    arrived_ns,
                }));
            }
        }
    }

    /// The number and the content of a reply to this requester.
    fn reply(&self, received: &[u8]) -> Option<(u16, [u8; 8])> {
        let header = match self.is_raw && !self.is_v6 {
            true => usize::from(received.first()? & 0x0f) * 4,
            false => 0,
        };
        let echo = received.get(header..)?;
        let &[kind, code, _, _, id_high, id_low, high, low] = echo.first_chunk()?;
        let expected = match self.is_v6 {
            true => ECHO_REPLY_V6,
            false => ECHO_REPLY,
        };
        let is_own = !self.is_raw || u16::from_be_bytes([id_high, id_low]) == self.id;
        let content = echo.get(HEADER..)?.first_chunk().copied()?;
        (kind == expected && code == 0 && is_own)
            .then_some((u16::from_be_bytes([high, low]), content))
    }
}

impl std::os::fd::AsFd for EchoRequester {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::realtime_ns;
    use crate::poll::poll_readable;
    use std::os::fd::AsFd;
    use std::time::Duration;

    #[test]
    fn loopback_answers_with_what_was_sent() -> io::Result<()> {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(requester) = EchoRequester::open(host.parse().unwrap(), 0x1234) else {
                continue;
            };
            for sequence in 0..20 {
                let before = realtime_ns();
                if requester.send(sequence, before.to_be_bytes()).is_err() {
                    break;
                }
                poll_readable(&[requester.as_fd()], Some(Duration::from_secs(10)))?;
                let reply = requester.receive()?.unwrap();
                assert_eq!(
                    (reply.sequence, reply.content),
                    (sequence, before.to_be_bytes())
                );
                assert!(
                    reply
                        .arrived_ns
                        .is_none_or(|at| at >= before && at <= realtime_ns())
                );
            }
            assert_eq!(requester.receive()?, None);
        }
        Ok(())
    }
}
