//! The error queue of a UDP socket: the ICMP errors that its datagrams caused, and the times at which they left. ip(7), `IP_RECVERR`.

use std::ffi::c_int;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use crate::raw::{self, SockaddrBuffer};

/// `ee_origin` of an error of this machine, of ICMP, of ICMPv6, and of a timestamp. Source: include/uapi/linux/errqueue.h.
const ORIGIN_LOCAL: u8 = 1;
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;
const ORIGIN_TIMESTAMPING: u8 = 4;
/// The size of `struct sock_extended_err`, which the address of the offender follows.
const EXTENDED_ERROR: usize = 16;

/// An ICMP error that a datagram of the socket caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedIcmpError {
    /// The source address of the error: the router or host that sent it.
    pub offender: IpAddr,
    /// The type of the ICMP or ICMPv6 message.
    pub kind: u8,
    /// Its code.
    pub code: u8,
    /// `true` for ICMPv6.
    pub is_v6: bool,
    /// The MTU in "fragmentation needed" and "packet too big"; else 0.
    pub mtu: u32,
    /// The time at which the kernel received it, ns on the wall clock.
    pub arrived_ns: Option<u64>,
    /// The TTL with which it arrived.
    pub ttl: Option<u8>,
    /// The bytes of the datagram's payload that it quotes; of more than the buffer holds, the length of the buffer.
    pub quoted_bytes: usize,
}

/// An entry of the error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuedMessage {
    /// The kernel handed a datagram to the device.
    Departed {
        /// The number of the datagram among those of [`send_probe`], from 0.
        number: u32,
        /// The time, ns on the wall clock.
        at_ns: u64,
    },
    /// An ICMP error. The payload it quotes is in the buffer.
    Icmp(QueuedIcmpError),
    /// An error of this machine.
    Local {
        /// The error number.
        errno: i32,
        /// The MTU where the datagram was too large; else 0.
        mtu: u32,
    },
}

/// Has the kernel queue the ICMP errors that the datagrams of a socket cause, and report their TTL. Datagrams carry DF, whatever path
/// MTU the kernel knows, and are sent up to the MTU of the device (`IP_PMTUDISC_PROBE`).
///
/// # Errors
/// Any error of setsockopt(2).
pub fn enable_error_queue(socket: impl AsFd) -> io::Result<()> {
    let options: [(c_int, c_int, c_int); 3] = if raw::is_v6(&socket) {
        [
            (libc::IPPROTO_IPV6, libc::IPV6_RECVERR, 1),
            (libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1),
            (
                libc::IPPROTO_IPV6,
                libc::IPV6_MTU_DISCOVER,
                libc::IPV6_PMTUDISC_PROBE,
            ),
        ]
    } else {
        [
            (libc::IPPROTO_IP, libc::IP_RECVERR, 1),
            (libc::IPPROTO_IP, libc::IP_RECVTTL, 1),
            (
                libc::IPPROTO_IP,
                libc::IP_MTU_DISCOVER,
                libc::IP_PMTUDISC_PROBE,
            ),
        ]
    };
    for (level, name, value) in options {
        raw::set_int(&socket, level, name, value)?;
    }
    Ok(())
}

/// Sends `payload` on a connected socket with this TTL, or hop limit, and has the kernel record its departure.
///
/// # Errors
/// `EMSGSIZE` where the datagram is larger than the device takes; any other error of sendmsg(2), that of an earlier datagram included.
pub fn send_probe(socket: impl AsFd, payload: &[u8], ttl: u8) -> io::Result<usize> {
    let ttl = c_int::from(ttl).to_ne_bytes();
    let (level, kind) = if raw::is_v6(&socket) {
        (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT)
    } else {
        (libc::IPPROTO_IP, libc::IP_TTL)
    };
    let stamped = libc::SOF_TIMESTAMPING_TX_SOFTWARE.to_ne_bytes();
    let controls: [(c_int, c_int, &[u8]); 2] = [
        (level, kind, &ttl),
        (libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &stamped),
    ];
    raw::send_with_controls(socket, payload, &controls, None)
}

/// Takes the next entry of the error queue, with as much of the quoted payload as `buffer` holds; `None` when it is empty.
///
/// Entries that are of neither kind are left out.
///
/// # Errors
/// Any error of recvmsg(2) but `EAGAIN`.
pub fn receive_queued(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<QueuedMessage>> {
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    loop {
        let message = match raw::receive_with_control(&socket, buffer, flags) {
            Ok(message) => message,
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(cause) => return Err(cause),
        };
        if let Some(queued) = decode(&message) {
            return Ok(Some(queued));
        }
    }
}

fn decode(message: &raw::ReceivedMessage) -> Option<QueuedMessage> {
    let (mut extended, mut at_ns, mut ttl) = (None, None, None);
    for (level, kind, data) in message.control() {
        match (level, kind) {
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                extended = Some(data);
            }
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => at_ns = raw::timespec_ns(data),
            (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                ttl = raw::u32_at(data, 0).and_then(|ttl| u8::try_from(ttl).ok());
            }
            _ => {}
        }
    }
    let extended = extended?;
    let (errno, info, data) = (
        raw::u32_at(extended, 0)?,
        raw::u32_at(extended, 8)?,
        raw::u32_at(extended, 12)?,
    );
    let &[origin, kind, code] = extended.get(4..7)? else {
        return None;
    };
    match origin {
        ORIGIN_TIMESTAMPING => Some(QueuedMessage::Departed {
            number: data,
            at_ns: at_ns?,
        }),
        ORIGIN_LOCAL => Some(QueuedMessage::Local {
            errno: errno as i32,
            mtu: info,
        }),
        ORIGIN_ICMP | ORIGIN_ICMP6 => Some(QueuedMessage::Icmp(QueuedIcmpError {
            offender: SockaddrBuffer::from_bytes(extended.get(EXTENDED_ERROR..)?)?.ip(),
            kind,
            code,
            is_v6: origin == ORIGIN_ICMP6,
            mtu: info,
            arrived_ns: at_ns,
            ttl,
            quoted_bytes: message.length,
        })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::realtime_ns;
    use crate::timestamps;
    use std::net::UdpSocket;

    /// A socket connected to a port of loopback where nobody listens.
    fn probing(loopback: &str) -> io::Result<UdpSocket> {
        let nobody = UdpSocket::bind((loopback, 0))?.local_addr()?;
        let socket = UdpSocket::bind((loopback, 0))?;
        socket.connect(nobody)?;
        enable_error_queue(&socket)?;
        timestamps::enable(&socket)?;
        Ok(socket)
    }

    #[test]
    fn a_port_that_nobody_listens_at_answers_with_a_queued_error() -> io::Result<()> {
        for (loopback, expected) in [("127.0.0.1", (3, 3)), ("::1", (1, 4))] {
            let Ok(socket) = probing(loopback) else {
                continue;
            };
            let before = realtime_ns();
            let mut buffer = [0; 64];
            let mut departures = Vec::new();
            for number in 0..100_u32 {
                // The error of the datagram before may be pending.
                while send_probe(&socket, &number.to_be_bytes(), 9).is_err() {}
                while let Some(queued) = receive_queued(&socket, &mut buffer)? {
                    match queued {
                        QueuedMessage::Departed { number, at_ns } => {
                            assert!(before <= at_ns && at_ns <= realtime_ns());
                            departures.push(number);
                        }
                        QueuedMessage::Icmp(error) => {
                            assert_eq!((error.kind, error.code), expected);
                            assert_eq!(error.offender, loopback.parse::<IpAddr>().unwrap());
                            assert_eq!(error.is_v6, loopback == "::1");
                            assert_eq!(error.quoted_bytes, 4);
                            assert_eq!(error.ttl, Some(64));
                            assert!(error.arrived_ns.is_none_or(|at| at >= before));
                            assert!(u32::from_be_bytes(buffer[..4].try_into().unwrap()) <= number);
                        }
                        QueuedMessage::Local { .. } => panic!("{queued:?}"),
                    }
                }
            }
            assert!(
                departures.is_sorted() && departures.len() > 90,
                "{departures:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_datagram_beyond_the_device_s_mtu_is_refused() -> io::Result<()> {
        let socket = probing("127.0.0.1")?;
        let refused = send_probe(&socket, &[0; 65_507], 9);
        // The MTU of loopback is 65 536 bytes unless somebody changed it.
        assert!(refused.is_ok() || refused.unwrap_err().raw_os_error() == Some(libc::EMSGSIZE));
        Ok(())
    }
}
