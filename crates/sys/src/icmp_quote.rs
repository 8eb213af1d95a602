//! ICMP errors with the header of the packet that they quote, which the error queue of a socket leaves out. Takes `CAP_NET_RAW`. raw(7), RFC 792, RFC 4443.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::raw;

/// Types of errors: time exceeded and destination unreachable, of ICMP and of ICMPv6.
const TIME_EXCEEDED: u8 = 11;
const UNREACHABLE: u8 = 3;
const TIME_EXCEEDED_V6: u8 = 3;
const UNREACHABLE_V6: u8 = 1;
/// The option that has a raw ICMP socket receive nothing of the types whose bits are set. Source: include/uapi/linux/icmp.h.
const ICMP_FILTER: libc::c_int = 1;
/// UDP's number in the IP header.
const UDP: u8 = 17;
/// The length of an ICMP header.
const ICMP_HEADER: usize = 8;
/// The length of an IPv6 header without extensions.
const IPV6_HEADER: usize = 40;

/// An ICMP error about a UDP datagram, with what it quotes of the datagram's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotedDatagram {
    /// The source address of the error: the router or host that sent it.
    pub offender: IpAddr,
    /// `true` where the TTL was used up on the way, `false` where the destination was unreachable.
    pub is_time_exceeded: bool,
    /// The type-of-service byte (IPv4) or traffic class (IPv6) with which the datagram arrived there.
    pub tos: u8,
    /// The address that the datagram was sent to.
    pub destination: IpAddr,
    /// Its source port.
    pub source_port: u16,
    /// Its destination port.
    pub destination_port: u16,
}

/// Receives the ICMP errors that arrive at this host.
#[derive(Debug)]
pub struct QuoteReceiver {
    socket: Socket,
    is_v6: bool,
}

impl QuoteReceiver {
    /// A receiver of errors of one family.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`.
    pub fn open(is_v6: bool) -> io::Result<Self> {
        let (domain, protocol) = if is_v6 {
            (Domain::IPV6, Protocol::ICMPV6)
        } else {
            (Domain::IPV4, Protocol::ICMPV4)
        };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        if !is_v6 {
            let wanted: u32 = 1 << TIME_EXCEEDED | 1 << UNREACHABLE;
            raw::set_option(
                &socket,
                libc::SOL_RAW,
                ICMP_FILTER,
                &(!wanted).to_ne_bytes(),
            )?;
        }
        Ok(Self { socket, is_v6 })
    }

    /// The next error about a UDP datagram; `None` when none arrives within `timeout`. Others are left out.
    ///
    /// # Errors
    /// Any error of recvmsg(2).
    pub fn receive(&self, timeout: Duration) -> io::Result<Option<QuotedDatagram>> {
        self.socket
            .set_read_timeout(Some(timeout.max(Duration::from_millis(1))))?;
        let mut buffer = [0; 1024];
        match raw::receive_with_control(&self.socket, &mut buffer, 0) {
            Ok(message) => {
                let from = message.source.map(|source| source.ip().to_canonical());
                let packet = buffer.get(..message.length).unwrap_or_default();
                let quoted = from.and_then(|from| match self.is_v6 {
                    true => quoted_v6(packet, from),
                    false => quoted_v4(packet, from),
                });
                Ok(quoted)
            }
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}

/// What an IPv4 packet with an ICMP error quotes.
fn quoted_v4(packet: &[u8], offender: IpAddr) -> Option<QuotedDatagram> {
    // A raw socket of IPv4 receives the IP header, one of IPv6 does not.
    let icmp = packet.get(header_length(packet)?..)?;
    let is_time_exceeded = match *icmp.first()? {
        TIME_EXCEEDED => true,
        UNREACHABLE => false,
        _ => return None,
    };
    let quoted = icmp.get(ICMP_HEADER..)?;
    let udp = quoted.get(header_length(quoted)?..)?;
    let destination: [u8; 4] = *quoted.get(16..)?.first_chunk()?;
    let (source_port, destination_port) = ports(udp)?;
    (*quoted.get(9)? == UDP).then_some(QuotedDatagram {
        offender,
        is_time_exceeded,
        tos: *quoted.get(1)?,
        destination: Ipv4Addr::from(destination).into(),
        source_port,
        destination_port,
    })
}

/// What an ICMPv6 error quotes.
fn quoted_v6(icmp: &[u8], offender: IpAddr) -> Option<QuotedDatagram> {
    let is_time_exceeded = match *icmp.first()? {
        TIME_EXCEEDED_V6 => true,
        UNREACHABLE_V6 => false,
        _ => return None,
    };
    let quoted = icmp.get(ICMP_HEADER..)?;
    let first: [u8; 2] = *quoted.first_chunk()?;
    let destination: [u8; 16] = *quoted.get(24..)?.first_chunk()?;
    let (source_port, destination_port) = ports(quoted.get(IPV6_HEADER..)?)?;
    let is_v6 = first[0] >> 4 == 6;
    (is_v6 && *quoted.get(6)? == UDP).then_some(QuotedDatagram {
        offender,
        is_time_exceeded,
        tos: (u16::from_be_bytes(first) >> 4) as u8,
        destination: Ipv6Addr::from(destination).to_canonical(),
        source_port,
        destination_port,
    })
}

/// The length of an IPv4 header.
fn header_length(packet: &[u8]) -> Option<usize> {
    let first = *packet.first()?;
    let length = usize::from(first & 0xf) * 4;
    (first >> 4 == 4 && length >= 20).then_some(length)
}

fn ports(udp: &[u8]) -> Option<(u16, u16)> {
    let ports: [u8; 4] = *udp.first_chunk()?;
    let [a, b, c, d] = ports;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// A UDP socket whose datagrams have this type-of-service byte, or traffic class, to one host; the port varies.
#[derive(Debug)]
pub struct MarkedSender {
    socket: Socket,
    is_v6: bool,
}

impl MarkedSender {
    /// A sender from `local`, or from any address.
    ///
    /// # Errors
    /// Any error of bind(2) and setsockopt(2).
    pub fn open(local: Option<IpAddr>, host: IpAddr, tos: u8) -> io::Result<Self> {
        let is_v6 = host.is_ipv6();
        let domain = if is_v6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        let any: IpAddr = match is_v6 {
            true => Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        socket.bind(&SockAddr::from(SocketAddr::new(local.unwrap_or(any), 0)))?;
        crate::options::set_tos(&socket, tos)?;
        Ok(Self { socket, is_v6 })
    }

    /// The source port.
    ///
    /// # Errors
    /// Any error of getsockname(2).
    pub fn port(&self) -> io::Result<u16> {
        let address = self.socket.local_addr()?.as_socket();
        Ok(address.map_or(0, |address| address.port()))
    }

    /// Sends a datagram to this address with this TTL, or hop limit.
    ///
    /// # Errors
    /// Any error of sendmsg(2), that of an earlier datagram included.
    pub fn send(&self, to: SocketAddr, ttl: u8, payload: &[u8]) -> io::Result<()> {
        match self.is_v6 {
            true => self.socket.set_unicast_hops_v6(ttl.into())?,
            false => self.socket.set_ttl_v4(ttl.into())?,
        }
        self.socket.send_to(payload, &SockAddr::from(to)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 packet with an error of this type about a datagram with this TOS.
    fn error_v4(kind: u8, tos: u8, protocol: u8) -> Vec<u8> {
        let mut packet = vec![0; 20 + ICMP_HEADER + 20 + 8];
        packet[0] = 0x45;
        packet[20] = kind;
        packet[28] = 0x45;
        packet[29] = tos;
        packet[37] = protocol;
        packet[44..48].copy_from_slice(&[192, 0, 2, 9]);
        packet[48..52].copy_from_slice(&[0x9c, 0x40, 0x82, 0x9b]);
        packet
    }

    #[test]
    fn the_quoted_header_has_the_marks_as_they_arrived_there() {
        let router: IpAddr = "192.0.2.1".parse().unwrap();
        let found = quoted_v4(&error_v4(TIME_EXCEEDED, 0xb8, UDP), router).unwrap();
        let expected = QuotedDatagram {
            offender: router,
            is_time_exceeded: true,
            tos: 0xb8,
            destination: "192.0.2.9".parse().unwrap(),
            source_port: 40_000,
            destination_port: 33_435,
        };
        assert_eq!(found, expected);
        assert!(
            !quoted_v4(&error_v4(UNREACHABLE, 0, UDP), router)
                .unwrap()
                .is_time_exceeded
        );
        // Other messages, other protocols.
        assert_eq!(quoted_v4(&error_v4(0, 0, UDP), router), None);
        assert_eq!(quoted_v4(&error_v4(UNREACHABLE, 0, 6), router), None);

        let mut v6 = vec![0; ICMP_HEADER + IPV6_HEADER + 8];
        v6[0] = TIME_EXCEEDED_V6;
        v6[8..10].copy_from_slice(&[0x6b, 0x90]);
        v6[14] = UDP;
        v6[32..48].copy_from_slice(&"2001:db8::9".parse::<Ipv6Addr>().unwrap().octets());
        v6[48..52].copy_from_slice(&[0x9c, 0x40, 0x82, 0x9b]);
        let found = quoted_v6(&v6, "2001:db8::1".parse().unwrap()).unwrap();
        assert_eq!((found.tos, found.source_port), (0xb9, 40_000));
        assert_eq!(found.destination.to_string(), "2001:db8::9");
    }

    #[test]
    fn what_is_cut_short_or_garbage_quotes_nothing() {
        let router: IpAddr = "192.0.2.1".parse().unwrap();
        let whole = error_v4(TIME_EXCEEDED, 0xb8, UDP);
        for length in 0..whole.len() - 4 {
            assert_eq!(quoted_v4(&whole[..length], router), None, "{length}");
        }
        for byte in [0, 0x45, 0x4f, 0xff] {
            assert_eq!(quoted_v4(&[byte; 200], router), None);
            assert_eq!(quoted_v6(&[byte; 200], router), None);
        }
    }

    #[test]
    fn errors_about_a_closed_port_of_this_host_are_received() -> io::Result<()> {
        for host in ["127.0.0.1", "::1"] {
            let host: IpAddr = host.parse().unwrap();
            let receiver = match QuoteReceiver::open(host.is_ipv6()) {
                Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
                receiver => receiver?,
            };
            let sender = MarkedSender::open(None, host, 0xba)?;
            let closed = std::net::UdpSocket::bind((host, 0))?.local_addr()?;
            sender.send(closed, 9, b"probe")?;
            let until = std::time::Instant::now() + Duration::from_secs(10);
            let found = loop {
                assert!(std::time::Instant::now() < until, "no error about {closed}");
                let found = receiver.receive(Duration::from_millis(100))?;
                if let Some(found) = found.filter(|one| one.source_port == sender.port().unwrap()) {
                    break found;
                }
            };
            assert_eq!((found.tos, found.is_time_exceeded), (0xba, false));
            assert_eq!(found.destination_port, closed.port());
        }
        Ok(())
    }
}
