//! Probes as UDP datagrams of this machine.

use super::channel::{ChannelEvent, ProbeChannel, SentProbe};
use super::probe::{AnswerKind, FRAME_OVERHEAD, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::icmp::EchoReplySender;
use caudal_sys::poll::poll_readable;
use caudal_sys::timestamps;
use caudal_sys::udp::{
    QueuedIcmpError, QueuedMessage, enable_error_queue, pending_error, receive_queued, send_probe,
};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// The port that probes are addressed to: the first of traceroute(8), which firewalls that let traces pass know.
pub const PROBE_PORT: u16 = 33_434;
/// What payload of ours begins with, before the number of the probe.
const MAGIC: [u8; 4] = *b"cprb";
/// The bytes at the beginning of the payload that identify a probe.
const TOKEN: usize = 8;
/// Number of primers, far above those of probes.
const PRIMER: u32 = u32::MAX;
/// TTL of primers, which must pass every hop.
const PRIMER_TTL: u8 = 64;
/// Maximum errors of earlier probes that a send may report before its own.
const MAX_PENDING: u32 = 8;
/// Maximum departures that await their timestamps.
const MAX_DEPARTURES: usize = 256;
/// The largest UDP datagram, bytes.
const MAX_DATAGRAM: usize = 65_507;

/// A socket of one flow.
#[derive(Debug)]
struct FlowSocket {
    socket: UdpSocket,
    /// The number of the next datagram whose departure is recorded.
    next_number: u32,
    /// The numbers of datagrams and of their probes.
    departures: VecDeque<(u32, u32)>,
}

/// Probes as UDP datagrams of this machine, each flow from a port of its own. Needs no privileges.
#[derive(Debug)]
pub struct UdpChannel {
    target: SocketAddr,
    bind: Option<IpAddr>,
    local: IpAddr,
    flows: BTreeMap<u16, FlowSocket>,
    primers: u32,
    primer_bytes: u32,
    echo_replies: Option<EchoReplySender>,
    payload: Vec<u8>,
    quoted: Vec<u8>,
}

impl UdpChannel {
    /// A channel to this host, whose interface has this index where it is link-local, from an address of this machine where one is given, with `primers` packets of `primer_bytes`, IP header
    /// included, before a primed probe. Primers are ICMP echo replies where this process may send them.
    ///
    /// # Errors
    /// When there is no route to the host, or the address is not of this machine.
    pub fn open(
        (host, scope): (IpAddr, u32),
        bind: Option<IpAddr>,
        (primers, primer_bytes): (u32, u32),
    ) -> io::Result<Self> {
        let target = match host {
            IpAddr::V4(_) => SocketAddr::new(host, PROBE_PORT),
            IpAddr::V6(host) => SocketAddrV6::new(host, PROBE_PORT, 0, scope).into(),
        };
        let first = FlowSocket::open(target, bind)?;
        let local = first.socket.local_addr()?.ip();
        Ok(Self {
            target,
            bind,
            local,
            flows: BTreeMap::from([(super::probe::MEASURED_FLOW, first)]),
            primers,
            primer_bytes,
            echo_replies: EchoReplySender::open(local, target.ip()).ok(),
            payload: vec![0; MAX_DATAGRAM],
            quoted: vec![0; MAX_DATAGRAM],
        })
    }

    /// The address of this machine that probes are sent from.
    #[must_use]
    pub const fn local(&self) -> IpAddr {
        self.local
    }

    /// `true` when primers are ICMP echo replies, which nobody answers.
    #[must_use]
    pub const fn has_icmp_primers(&self) -> bool {
        self.echo_replies.is_some()
    }

    /// What a packet has besides its payload: the IP and the UDP header, bytes.
    const fn headers(&self) -> u32 {
        if self.target.is_ipv6() { 48 } else { 28 }
    }

    fn payload_bytes(&self, packet_bytes: u32) -> usize {
        let payload = packet_bytes.saturating_sub(self.headers()) as usize;
        payload.clamp(TOKEN, MAX_DATAGRAM)
    }

    /// Sends the primers of a probe; the number of packets and bytes.
    fn prime(&mut self, flow: u16) -> io::Result<(u32, u64)> {
        let bytes = self.payload_bytes(self.primer_bytes);
        for _ in 0..self.primers {
            if let Some(sender) = &mut self.echo_replies {
                // The header of an echo reply is as long as that of UDP.
                sender.send(&self.payload[..bytes])?;
            } else {
                self.transmit(PRIMER, flow, PRIMER_TTL, bytes)?;
            }
        }
        let sent = u64::from(self.primers) * (bytes as u64 + u64::from(self.headers()));
        Ok((self.primers, sent))
    }

    /// Sends one datagram with the number of its probe.
    fn transmit(&mut self, id: u32, flow: u16, ttl: u8, bytes: usize) -> io::Result<()> {
        let (target, bind) = (self.target, self.bind);
        let socket = match self.flows.entry(flow) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(FlowSocket::open(target, bind)?)
            }
        };
        self.payload[..4].copy_from_slice(&MAGIC);
        self.payload[4..TOKEN].copy_from_slice(&id.to_be_bytes());
        socket.send(id, &self.payload[..bytes], ttl)
    }

    fn decode(&self, flow: u16, error: &QueuedIcmpError) -> Option<ChannelEvent> {
        let kind = kind_of(error)?;
        // An error of this machine about itself: nobody has the next hop's address at the link layer.
        if error.offender == self.local && error.offender != self.target.ip() {
            return matches!(kind, AnswerKind::Unreachable { .. }).then_some(
                ChannelEvent::Failed {
                    flow,
                    errno: libc::EHOSTUNREACH,
                },
            );
        }
        let quoted = &self.quoted[..error.quoted_bytes.min(self.quoted.len())];
        let id = match quoted.get(..TOKEN) {
            Some(token) if token[..4] == MAGIC => {
                Some(u32::from_be_bytes([token[4], token[5], token[6], token[7]]))
            }
            Some(_) => return None,
            None => None,
        };
        let answer_headers = if error.is_v6 { 40 + 8 } else { 20 + 8 };
        let packet = error.quoted_bytes as u32 + self.headers() + answer_headers;
        Some(ChannelEvent::Answered {
            id,
            flow,
            from: error.offender,
            kind,
            at_ns: error.arrived_ns.unwrap_or_else(realtime_ns),
            wire_bytes: (packet + FRAME_OVERHEAD).max(84),
            ttl: error.ttl,
        })
    }
}

/// What an ICMP or ICMPv6 error says of a probe; `None` for one that says nothing of the path.
///
/// Sources: RFC 792; RFC 1191 section 4; RFC 4443 section 3.
const fn kind_of(error: &QueuedIcmpError) -> Option<AnswerKind> {
    let code = error.code;
    Some(match (error.is_v6, error.kind, code) {
        (false, 11, 0) | (true, 3, 0) => AnswerKind::TimeExceeded,
        (false, 3, 3) | (true, 1, 4) => AnswerKind::PortUnreachable,
        (false, 3, 4) | (true, 2, _) => AnswerKind::TooLarge { mtu: error.mtu },
        (false, 3, _) | (true, 1, _) => AnswerKind::Unreachable { code },
        _ => return None,
    })
}

impl FlowSocket {
    fn open(target: SocketAddr, bind: Option<IpAddr>) -> io::Result<Self> {
        let any = match target {
            SocketAddr::V4(_) => IpAddr::from([0, 0, 0, 0]),
            SocketAddr::V6(_) => IpAddr::from([0_u16; 8]),
        };
        let local = match (bind, target) {
            // A link-local address is bound on the link of the target.
            (Some(IpAddr::V6(local)), SocketAddr::V6(target)) => {
                SocketAddrV6::new(local, 0, 0, target.scope_id()).into()
            }
            _ => SocketAddr::new(bind.unwrap_or(any), 0),
        };
        let socket = UdpSocket::bind(local)?;
        socket.connect(target)?;
        socket.set_nonblocking(true)?;
        enable_error_queue(&socket)?;
        timestamps::enable(&socket)?;
        Ok(Self {
            socket,
            next_number: 0,
            departures: VecDeque::new(),
        })
    }

    fn send(&mut self, id: u32, payload: &[u8], ttl: u8) -> io::Result<()> {
        let mut pending = 0;
        loop {
            match send_probe(&self.socket, payload, ttl) {
                Ok(_) => break,
                Err(cause) if cause.raw_os_error() == Some(libc::EMSGSIZE) => return Err(cause),
                // The answer to an earlier probe is reported as an error of this call.
                Err(_) if pending < MAX_PENDING => {
                    let _ = pending_error(&self.socket);
                    pending += 1;
                }
                Err(cause) => return Err(cause),
            }
        }
        self.departures.push_back((self.next_number, id));
        self.next_number = self.next_number.wrapping_add(1);
        while self.departures.len() > MAX_DEPARTURES {
            self.departures.pop_front();
        }
        Ok(())
    }

    /// The number of the probe of a datagram, whose departure and those before it are over.
    fn departed(&mut self, number: u32) -> Option<u32> {
        let at = self.departures.iter().position(|(one, _)| *one == number)?;
        let (_, id) = self.departures.drain(..=at).next_back()?;
        Some(id)
    }

    /// Takes datagrams that the host sends back away.
    fn discard_datagrams(&self) {
        let mut buffer = [0; 64];
        for _ in 0..MAX_PENDING {
            if self.socket.recv(&mut buffer).is_err() {
                return;
            }
        }
    }
}

impl ProbeChannel for UdpChannel {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn send(&mut self, id: u32, request: &ProbeRequest) -> io::Result<SentProbe> {
        let before_ns = realtime_ns();
        let bytes = self.payload_bytes(request.bytes);
        let (mut packets, mut sent) = (1, bytes as u64 + u64::from(self.headers()));
        if request.priming == Priming::Primed {
            let (primers, primer_bytes) = self.prime(request.flow)?;
            packets += primers;
            sent += primer_bytes;
        }
        self.transmit(id, request.flow, request.ttl, bytes)?;
        Ok(SentProbe {
            packets,
            bytes: sent,
            before_ns,
        })
    }

    fn wait(&mut self, until_ns: u64) -> io::Result<Vec<ChannelEvent>> {
        let timeout = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let sockets: Vec<_> = self
            .flows
            .values()
            .map(|flow| flow.socket.as_fd())
            .collect();
        poll_readable(&sockets, Some(timeout))?;
        drop(sockets);
        let mut events = Vec::new();
        let flows: Vec<u16> = self.flows.keys().copied().collect();
        for flow in flows {
            while let Some(socket) = self.flows.get_mut(&flow) {
                match receive_queued(&socket.socket, &mut self.quoted)? {
                    None => {
                        socket.discard_datagrams();
                        break;
                    }
                    Some(QueuedMessage::Departed { number, at_ns }) => {
                        let id = socket.departed(number);
                        events.extend(id.map(|id| ChannelEvent::Departed { id, at_ns }));
                    }
                    Some(QueuedMessage::Icmp(error)) => events.extend(self.decode(flow, &error)),
                    Some(QueuedMessage::Local { errno, .. }) if errno != libc::EMSGSIZE => {
                        events.push(ChannelEvent::Failed { flow, errno });
                    }
                    Some(QueuedMessage::Local { .. }) => {}
                }
            }
        }
        Ok(events)
    }
}
