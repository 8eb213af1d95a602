//! ICMP echo replies that nobody asked for, which every host ignores. Takes `CAP_NET_RAW`. raw(7), icmp(7), RFC 792, RFC 4443.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::raw;

/// The type of an echo reply in ICMP and in ICMPv6.
const ECHO_REPLY: u8 = 0;
const ECHO_REPLY_V6: u8 = 129;
/// The option that has a raw ICMP socket receive nothing of the types whose bits are set. Source: include/uapi/linux/icmp.h.
const ICMP_FILTER: libc::c_int = 1;

/// Sends ICMP echo replies to one host.
#[derive(Debug)]
pub struct EchoReplySender {
    socket: Socket,
    is_v6: bool,
    message: Vec<u8>,
}

impl EchoReplySender {
    /// A sender from one address of this machine to a host. Its packets carry DF.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; `ENETUNREACH` where there is no route.
    pub fn open(local: IpAddr, host: IpAddr) -> io::Result<Self> {
        let is_v6 = host.is_ipv6();
        let (domain, protocol) = if is_v6 {
            (Domain::IPV6, Protocol::ICMPV6)
        } else {
            (Domain::IPV4, Protocol::ICMPV4)
        };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.bind(&SockAddr::from(SocketAddr::new(local, 0)))?;
        socket.connect(&SockAddr::from(SocketAddr::new(host, 0)))?;
        if is_v6 {
            let probe = libc::IPV6_PMTUDISC_PROBE;
            raw::set_int(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, probe)?;
        } else {
            let nothing = u32::MAX.to_ne_bytes();
            raw::set_option(&socket, libc::SOL_RAW, ICMP_FILTER, &nothing)?;
            let probe = libc::IP_PMTUDISC_PROBE;
            raw::set_int(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, probe)?;
        }
        // What arrives is never read: it must not take memory.
        socket.shutdown(std::net::Shutdown::Read).ok();
        Ok(Self {
            socket,
            is_v6,
            message: Vec::new(),
        })
    }

    /// Sends an echo reply with this content.
    ///
    /// # Errors
    /// `EMSGSIZE` where the device does not take it; any other error of send(2).
    pub fn send(&mut self, content: &[u8]) -> io::Result<()> {
        self.message.clear();
        let kind = if self.is_v6 {
            ECHO_REPLY_V6
        } else {
            ECHO_REPLY
        };
        self.message.extend_from_slice(&[kind, 0, 0, 0, 0, 0, 0, 0]);
        self.message.extend_from_slice(content);
        if !self.is_v6 {
            // For ICMPv6 the kernel does it.
            let sum = internet_checksum(&self.message);
            self.message[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        self.socket.send(&self.message).map(drop)
    }
}

/// The Internet checksum of a message whose checksum field is zero. Source: RFC 1071.
pub(crate) fn internet_checksum(message: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in message.chunks(2) {
        let high = u32::from(pair[0]) << 8;
        sum += high + pair.get(1).map_or(0, |low| u32::from(*low));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // The example of its section 3.
        let message = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(internet_checksum(&message), !0xddf2);
        assert_eq!(internet_checksum(&[0xff]), 0x00ff);
    }

    #[test]
    fn echo_replies_are_sent_where_that_is_permitted() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        match EchoReplySender::open(loopback, loopback) {
            Ok(mut sender) => sender.send(&[7; 100]).unwrap(),
            Err(cause) => assert_eq!(cause.kind(), io::ErrorKind::PermissionDenied),
        }
    }
}
