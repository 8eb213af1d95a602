//! Connecting back: to the client's own address, at the port it listens on (`-d`, `-r`).

use super::Event;
use super::leg::{Carry, Leg, LegInfo};
use super::server::{House, LARGEST_BLOCK, UDP_RATE};
use super::tcp::{self, block};
use super::udp::{self, Ending, Received};
use super::visit_tcp::opened;
use crate::bell::Bell;
use crate::carrier::Link;
use crate::socket::{self, Origin, plain};
use caudal_core::sample::Role;
use caudal_sys::buffers;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf2::{Layout, TestHeader, Way};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Connects to the client's own address, at the port it listens on, and begins to send.
#[expect(
    clippy::too_many_arguments,
    reason = "they are one call's, made in four places"
)]
pub(super) fn connect_back(
    house: &Arc<House>,
    header: &TestHeader,
    peer: SocketAddr,
    local: SocketAddr,
    bell: &Bell,
    group: u64,
    limit: Received,
    udp_layout: Option<Layout>,
) -> Option<Leg> {
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
    let made = back_leg(house, header, to, local, bell, group, limit, udp_layout);
    match made {
        Ok(leg) => Some(leg),
        Err(why) => {
            house.trouble(Some(to), why);
            None
        }
    }
}

#[expect(
    clippy::too_many_arguments,
    reason = "they are those of connecting back"
)]
pub(super) fn back_leg(
    house: &Arc<House>,
    header: &TestHeader,
    to: SocketAddr,
    local: SocketAddr,
    bell: &Bell,
    group: u64,
    limit: Received,
    udp_layout: Option<Layout>,
) -> Result<Leg, String> {
    let origin = Origin {
        address: Some(local.ip()),
        device: None,
        port: None,
    };
    let origin = if local.ip().is_unspecified() || local.ip().is_multicast() {
        Origin::default()
    } else {
        origin
    };
    let (_, bytes) = house.end(header.amount);
    let ringer = bell.ringer().map_err(|cause| cause.to_string())?;
    let asked = header
        .extended
        .map(|extended| extended.rate)
        .filter(|rate| *rate > 0);
    let mut info = LegInfo {
        number: house.numbers.fetch_add(1, Ordering::Relaxed) + 1,
        role: Role::Sender,
        back: true,
        udp: udp_layout.is_some(),
        local,
        peer: to,
        way: Way::Reverse,
        group,
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
    if let Some(layout) = udp_layout {
        let old = match header.window_or_rate {
            0 => UDP_RATE,
            rate => u64::from(rate),
        };
        let rate = house.rate(asked.or(Some(old)));
        let length = match header.length {
            0 => 1470,
            length => length.min(65_507) as usize,
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
            no_more_than: match limit {
                Received::Bytes(u64::MAX) => None,
                other => Some(other),
            },
            payload: None,
        };
        return start(
            info,
            Link::Udp(socket),
            Box::new(move |work| match &*work.link {
                Link::Udp(socket) => udp::send(socket, &sending, work),
                Link::Tcp(_) => Ok(()),
            }),
        );
    }
    let length = match header.length.min(LARGEST_BLOCK) {
        0 => 128 << 10,
        length => length as usize,
    };
    let rate = house.rate(asked);
    let stream = socket::connect(to, &origin, None)
        .map_err(|error| format!("cannot connect back: {error}"))?;
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
        Box::new(move |work| match &*work.link {
            Link::Tcp(stream) => tcp::send(stream, sending, work),
            Link::Udp(_) => Ok(()),
        }),
    )
}
