//! Connecting back: to the client's own address, at the port it listens on (`-d`, `-r`).

use super::Event;
use super::leg::{Carry, Leg, LegInfo, over_tcp, over_udp};
use super::server::{MAX_BLOCK, UDP_RATE};
use super::tcp::{self, block};
use super::udp::{self, Ending, Received};
use super::visit::Visit;
use super::visit_tcp::opened;
use crate::bell::Bell;
use crate::carrier::Link;
use crate::error::RunError;
use crate::socket::{self, Origin, plain};
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::sample::Role;
use caudal_sys::buffers;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::{Layout, TestHeader, Way};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// What to connect back over.
pub(super) enum Over {
    Tcp,
    /// Datagrams of this layout; where the address may be another's, no more than has come from it.
    Udp(Layout, Option<Received>),
}

/// How long a client may take to listen: it starts that beside its own sending.
const PATIENCE_NS: u64 = 500_000_000;
/// How long after a refusal the next try is.
const AGAIN: Duration = Duration::from_millis(50);

/// Connects to a client that may be about to listen.
fn connect(to: SocketAddr, origin: &Origin) -> Result<TcpStream, RunError> {
    let until = monotonic_ns() + PATIENCE_NS;
    loop {
        match socket::connect(to, origin, None) {
            Err(RunError::Connect { cause, .. })
                if cause.kind() == ErrorKind::ConnectionRefused && monotonic_ns() < until =>
            {
                thread::sleep(AGAIN);
            }
            outcome => return outcome,
        }
    }
}

impl Visit<'_> {
    /// Connects to the client's own address, at the port it listens on, and begins to send.
    pub fn connect_back(&self, bell: &Bell, over: Over) -> Option<Leg> {
        let (house, peer) = (self.house, self.info.peer);
        let header = self.header?;
        if !house.options.connect_back {
            house.trouble(
                Some(peer),
                "it asks to be connected to, which this server is told not to do",
            );
            return None;
        }
        // The ports below belong to a host's services: no client listens there.
        let Some(port) = u16::try_from(header.port).ok().filter(|port| *port >= 1024) else {
            house.trouble(
                Some(peer),
                format!("it asks to be connected to at port {}", header.port),
            );
            return None;
        };
        let to = SocketAddr::new(peer.ip(), port);
        match self.leg_back(&header, to, bell, over) {
            Ok(leg) => Some(leg),
            Err(why) => {
                house.trouble(Some(to), why);
                None
            }
        }
    }

    fn leg_back(
        &self,
        header: &TestHeader,
        to: SocketAddr,
        bell: &Bell,
        over: Over,
    ) -> Result<Leg, String> {
        let house = self.house;
        let local = self.info.local;
        let origin = if local.ip().is_unspecified() || local.ip().is_multicast() {
            Origin::default()
        } else {
            Origin {
                address: Some(local.ip()),
                device: None,
                port: None,
            }
        };
        let (_, bytes) = self.end();
        let ringer = bell.ringer().map_err(|cause| cause.to_string())?;
        let mut info = LegInfo {
            number: house.numbers.fetch_add(1, Ordering::Relaxed) + 1,
            role: Role::Sender,
            back: true,
            udp: matches!(over, Over::Udp(..)),
            local,
            peer: to,
            way: Way::Reverse,
            group: self.info.group,
            members: 1,
            socket: 0,
            version: None,
            connecting: None,
            opened: None,
            no_udp_fin: false,
            trip_times: false,
            tos: 0,
        };
        let start = |info: LegInfo, link: Link, carry: Carry| {
            (house.tell)(Event::Connected(Arc::new(info.clone())));
            Leg::start(info, Arc::new(link), 0, monotonic_ns(), ringer, carry)
                .map_err(|cause| cause.to_string())
        };
        if let Over::Udp(layout, no_more_than) = over {
            let old = match header.window_or_rate {
                0 => UDP_RATE,
                rate => u64::from(rate),
            };
            let rate = house.rate(self.asked_rate().or(Some(old)));
            let length = match header.length {
                0 => 1470,
                length => length.min(MAX_DATAGRAM) as usize,
            };
            let socket = UdpSocket::bind(SocketAddr::new(
                origin.address.unwrap_or(match to {
                    SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                    SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
                }),
                0,
            ))
            .and_then(|socket| socket.connect(to).map(|()| socket))
            .map_err(|cause| format!("cannot connect back: {cause}"))?;
            (house.tell)(Event::ConnectingBack {
                peer: to,
                udp: true,
                length: length as u32,
                rate: rate.unwrap_or(0),
                buffer: buffers::send_buffer(&socket).unwrap_or(0),
            });
            info.local = socket.local_addr().map_or(local, plain);
            info.socket = socket.as_raw_fd();
            let sending = udp::Sending {
                layout,
                header: Vec::new(),
                length,
                rate,
                bytes,
                first: i64::from(layout != Layout::Twelve),
                end: Ending::Answered,
                no_more_than,
                payload: None,
            };
            return start(
                info,
                Link::Udp(socket),
                over_udp(move |socket, work| udp::send(socket, &sending, work)),
            );
        }
        let length = match header.length.min(MAX_BLOCK) {
            0 => 128 << 10,
            length => length as usize,
        };
        let rate = house.rate(self.asked_rate());
        let stream =
            connect(to, &origin).map_err(|error| format!("cannot connect back: {error}"))?;
        (house.tell)(Event::ConnectingBack {
            peer: to,
            udp: false,
            length: length as u32,
            rate: rate.unwrap_or(0),
            buffer: buffers::send_buffer(&stream).unwrap_or(0),
        });
        info.local = stream.local_addr().map_or(local, plain);
        info.socket = stream.as_raw_fd();
        info.opened = opened(&stream);
        let sending = tcp::Sending {
            payload: block(length),
            length,
            rate,
            bytes,
            bursts: false,
            alone: true,
        };
        start(
            info,
            Link::Tcp(stream),
            over_tcp(move |stream, work| tcp::send(stream, sending, work)),
        )
    }
}
