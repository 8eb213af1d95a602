//! Clients over UDP: every new address is a test of its own, on a socket of its own.

use super::back::Over;
use super::leg::{Leg, over_udp};
use super::listen::set_tos;
use super::server::{House, SEEING_OUT, STACK, UDP_RATE, run, wait};
use super::udp::{self, Ending, Received, Strays};
use super::visit::Visit;
use super::{Event, Tell};
use crate::bell::Bell;
use crate::carrier::Link;
use crate::guests::Guest;
use crate::socket::{UDP_BUFFER, answer_udp, plain};
use crate::stop::{reap, see_out};
use caudal_core::plan::MAX_DATAGRAM;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::{buffers, udp as datagrams};
use caudal_wire::iperf2::{First, Layout, Way};
use socket2::SockRef;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

/// Datagrams kept for a flow whose own socket is not there yet.
const MOST_STRAYS: usize = 1024;
/// How long a flow of UDP may be silent when it has hardly begun: its address may be made up.
const SPEECHLESS: Duration = Duration::from_secs(15);
/// How often it is said that datagrams are turned away, ns: their number is the sender's to choose.
const TURNED_AWAY_NS: u64 = 1_000_000_000;

struct Known {
    strays: Strays,
    over: Arc<AtomicBool>,
}

pub(super) fn desk_udp(house: &Arc<House>, udp: &UdpSocket) {
    let _ = udp.set_nonblocking(true);
    let port = udp.local_addr().map_or(0, |local| local.port());
    let mut sessions = Vec::new();
    let mut known: HashMap<SocketAddr, Known> = HashMap::new();
    let mut buffer = vec![0; 65_536];
    let mut said_ns = 0;
    while !house.is_stopping() {
        if wait(house, udp.as_fd()) {
            // A bound on one round, so that a flood does not keep a stop from being seen.
            for _ in 0..256 {
                let Ok((size, peer, local)) = datagrams::receive_with_destination(udp, &mut buffer)
                else {
                    break;
                };
                let arrived = caudal_sys::clock::realtime_ns();
                let peer = plain(peer);
                let datagram = &buffer[..size.min(buffer.len())];
                if let Some(flow) = known.get(&peer)
                    && !flow.over.load(Ordering::Relaxed)
                {
                    let mut strays = flow.strays.lock().unwrap_or_else(PoisonError::into_inner);
                    if strays.len() < MOST_STRAYS {
                        strays.push((datagram.to_vec(), arrived));
                    }
                    continue;
                }
                let Some(first) = First::read(datagram).filter(|first| first.datagram.id >= 0)
                else {
                    continue;
                };
                if house.options.serial
                    && known
                        .values()
                        .any(|flow| !flow.over.load(Ordering::Relaxed))
                {
                    continue;
                }
                // Addresses that prove nothing may be made up: they leave half of the places to others.
                let flows = known
                    .values()
                    .filter(|flow| !flow.over.load(Ordering::Relaxed))
                    .count();
                let admitted =
                    if flows >= (house.guests.places() / 2).max(1) && !house.is_proven(peer.ip()) {
                        Err(
                            "half of all places are taken by UDP from addresses without proof"
                                .to_owned(),
                        )
                    } else {
                        house.guests.admit(peer.ip())
                    };
                let guest = match admitted {
                    Ok(guest) => guest,
                    Err(why) => {
                        if monotonic_ns() >= said_ns + TURNED_AWAY_NS {
                            said_ns = monotonic_ns();
                            house.trouble(Some(peer), why);
                        }
                        continue;
                    }
                };
                let any: IpAddr = match peer {
                    SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                    SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
                };
                let local = SocketAddr::new(local.map_or(any, |local| local.to_canonical()), port);
                let socket = match flow_socket(house, local, peer) {
                    Ok(socket) => socket,
                    Err(cause) => {
                        house.trouble(Some(peer), format!("no socket for it: {cause}"));
                        continue;
                    }
                };
                let strays: Strays = Arc::default();
                strays
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((datagram.to_vec(), arrived));
                let over = Arc::new(AtomicBool::new(false));
                known.retain(|_, flow| !flow.over.load(Ordering::Relaxed));
                known.insert(
                    peer,
                    Known {
                        strays: Arc::clone(&strays),
                        over: Arc::clone(&over),
                    },
                );
                let inside = Arc::clone(house);
                let failed = Arc::clone(&over);
                let session = thread::Builder::new()
                    .name("iperf client".to_owned())
                    .stack_size(STACK)
                    .spawn(move || {
                        let _guest: Guest = guest;
                        if let Err(why) = serve_udp(&inside, socket, local, peer, first, strays) {
                            inside.trouble(Some(peer), why);
                        }
                        over.store(true, Ordering::Relaxed);
                    });
                match session {
                    Ok(session) => sessions.push(session),
                    Err(cause) => {
                        failed.store(true, Ordering::Relaxed);
                        house.trouble(Some(peer), format!("no thread for it: {cause}"));
                    }
                }
            }
        }
        reap(&mut sessions);
    }
    see_out(sessions, SEEING_OUT);
}

pub(super) fn flow_socket(
    house: &House,
    local: SocketAddr,
    peer: SocketAddr,
) -> io::Result<UdpSocket> {
    let socket = answer_udp(local, peer)?;
    let bytes = house.options.window.unwrap_or(UDP_BUFFER);
    let force = house.options.window.is_none();
    let _ = buffers::set_receive_buffer(&socket, bytes, force);
    let _ = buffers::set_send_buffer(&socket, bytes, force);
    datagrams::enable_gro(&socket);
    let _ = datagrams::enable_receive_timestamps(&socket);
    if let Some(tos) = house.options.tos {
        let _ = set_tos(&socket, peer.is_ipv6(), tos);
    }
    if local.ip().is_multicast()
        && let (IpAddr::V4(group), socket) = (local.ip(), SockRef::from(&socket))
    {
        // What the listening socket has joined reaches this one as well; where the kernel wants it said:
        let _ = socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED);
    }
    Ok(socket)
}

pub(super) fn serve_udp(
    house: &Arc<House>,
    socket: UdpSocket,
    local: SocketAddr,
    peer: SocketAddr,
    first: First,
    strays: Strays,
) -> Result<(), String> {
    let said = |cause: io::Error| cause.to_string();
    let start_ns = monotonic_ns();
    let header = first.header;
    let is_group = local.ip().is_multicast();
    let link = Arc::new(Link::Udp(socket));
    let mut visit = Visit::new(house, header, start_ns, &link, local, peer);
    let (way, extended) = (visit.info.way, visit.extended());
    visit.info.no_udp_fin = matches!(way, Way::Reverse | Way::FullDuplex)
        || extended.is_some_and(|extended| extended.no_udp_fin);
    let proven = house.is_proven(peer.ip());
    if way == Way::Reverse && !proven {
        return Err(
            "it asks for UDP in reverse, and its address is not proven: let it run a TCP test first, or start \
             the server with --iperf2-trust for its network"
                .to_owned(),
        );
    }
    (house.tell)(Event::Connected(Arc::new(visit.info.clone())));
    let mut bell = Bell::new().map_err(said)?;
    let (time, amount) = visit.end();
    let rate = match extended {
        Some(_) => visit.asked_rate(),
        None => Some(UDP_RATE),
    };
    let length = match header.map_or(0, |header| header.length) {
        0 if peer.is_ipv6() => 1450,
        0 => 1470,
        length => length.min(MAX_DATAGRAM) as usize,
    };
    let mut legs = Vec::new();
    let mut received = None;
    if way != Way::Reverse {
        let base = i64::from(first.layout != Layout::Twelve);
        // Numbers that begin elsewhere belong to a flow that was there before.
        let base = if first.datagram.id > 1000 {
            first.datagram.id
        } else {
            base.min(first.datagram.id)
        };
        let receiving = udp::Receiving {
            layout: first.layout,
            wide: first.wide,
            first: base,
            strays: Some(strays),
            answer: !visit.info.no_udp_fin && !is_group,
            times: visit.info.trip_times || house.options.distribution,
            request: None,
            ends_itself: false,
            most_ns: None,
        };
        let carry = over_udp(move |socket, work| udp::receive(socket, &receiving, work));
        let leg = visit.start(visit.info.clone(), &link, 0, &bell, carry)?;
        received = Some(Received::Counted(Arc::clone(&leg.counters)));
        legs.push(leg);
    }
    let limit = (!proven).then(|| received.unwrap_or(Received::Bytes(0)));
    if matches!(way, Way::Reverse | Way::FullDuplex) {
        let sending = udp::Sending {
            layout: first.layout,
            header: Vec::new(),
            length,
            rate: house.rate(rate),
            bytes: amount,
            first: 1,
            end: Ending::Told,
            no_more_than: limit.clone(),
            payload: None,
        };
        let carry = over_udp(move |socket, work| udp::send(socket, &sending, work));
        legs.push(visit.start(visit.sender(), &link, 0, &bell, carry)?);
    }
    if way == Way::Dual
        && let Some(leg) = visit.connect_back(&bell, Over::Udp(first.layout, limit))
    {
        legs.push(leg);
    }
    let idle = if proven {
        house.options.idle
    } else {
        house.options.idle.min(SPEECHLESS)
    };
    let asked = time.filter(|_| way != Way::Up);
    let (totals, failure) = run(house, &mut legs, &mut bell, asked, idle);
    tell_reports(&house.tell, &legs);
    drop(legs);
    drop(link);
    if way == Way::Tradeoff && failure.is_none() && !house.is_stopping() {
        let came = totals.iter().map(|total| total.bytes).sum();
        let limit = (!proven).then_some(Received::Bytes(came));
        if let Some(leg) = visit.connect_back(&bell, Over::Udp(first.layout, limit)) {
            let mut legs = [leg];
            let (_, failure) = run(house, &mut legs, &mut bell, time, house.options.idle);
            tell_reports(&house.tell, &legs);
            return failure.map_or(Ok(()), Err);
        }
    }
    match failure {
        Some(why) if !house.is_stopping() => Err(why),
        _ => Ok(()),
    }
}

/// Tells what the other ends of senders have reported.
pub(super) fn tell_reports(tell: &Tell, legs: &[Leg]) {
    for leg in legs
        .iter()
        .filter(|leg| leg.info.udp && super::sends(leg.info.role))
    {
        let report = *leg
            .notes
            .reported
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(report) = report {
            tell(Event::Reported(
                Arc::clone(&leg.info),
                super::client::figures(&report),
            ));
        } else {
            let tries = leg.notes.unreported.load(Ordering::Relaxed);
            if tries > 0 {
                tell(Event::Unreported(Arc::clone(&leg.info), tries));
            }
        }
    }
}
