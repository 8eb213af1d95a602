//! A client over TCP: what its first bytes ask is what it gets.

use super::Event;
use super::back::Over;
use super::leg::{Opened, over_tcp};
use super::listen::set_tos;
use super::server::{House, MAX_BLOCK, SEEING_OUT, STACK, run, wait};
use super::tcp::{self, await_close, block};
use super::visit::Visit;
use crate::bell::Bell;
use crate::carrier::Link;
use crate::guests::Guest;
use crate::socket::plain;
use crate::stop::{reap, see_out};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use caudal_sys::tcp as kernel;
use caudal_wire::iperf2::{Ack, BOUNCEBACK, Bounceback, LONGEST_HEADER, Opening, VERSION, Way};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// How long a connection may take to say what it wants.
const INTRODUCTION: Duration = Duration::from_secs(10);
/// Connections that have not said what they want, at most.
const MOST_UNDECIDED: usize = 512;

pub(super) fn desk_tcp(house: &Arc<House>, listener: &TcpListener) {
    let _ = listener.set_nonblocking(true);
    let mut sessions = Vec::new();
    while !house.is_stopping() {
        if house.options.serial && !sessions.is_empty() {
            sleep_until(monotonic_ns() + 5_000_000);
            reap(&mut sessions);
            continue;
        }
        if wait(house, listener.as_fd()) {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let peer = plain(peer);
                    if let Err(why) = house.guests.may_enter(peer.ip()) {
                        house.trouble(Some(peer), why);
                        continue;
                    }
                    // Whoever has not said what it wants has no place yet, and cannot keep others out of one.
                    if house.undecided.load(Ordering::Relaxed) >= MOST_UNDECIDED {
                        house.trouble(Some(peer), "too many say nothing");
                        continue;
                    }
                    house.undecided.fetch_add(1, Ordering::Relaxed);
                    let inside = Arc::clone(house);
                    let session = thread::Builder::new()
                        .name("iperf client".to_owned())
                        .stack_size(STACK)
                        .spawn(move || {
                            if let Err(why) = serve_tcp(&inside, stream, peer) {
                                inside.trouble(Some(peer), why);
                            }
                        });
                    match session {
                        Ok(session) => sessions.push(session),
                        Err(cause) => {
                            house.undecided.fetch_sub(1, Ordering::Relaxed);
                            house.trouble(Some(peer), format!("no thread for it: {cause}"));
                        }
                    }
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => sleep_until(monotonic_ns() + 5_000_000),
            }
        }
        reap(&mut sessions);
    }
    see_out(sessions, SEEING_OUT);
}

/// Reads what a connection begins with; nothing when it ended without a word.
pub(super) fn read_opening(
    house: &House,
    stream: &TcpStream,
) -> Result<Option<(Opening, Vec<u8>)>, String> {
    let until = monotonic_ns() + INTRODUCTION.as_nanos() as u64;
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        match Opening::of(&bytes).map_err(|error| error.to_string())? {
            Opening::Needs(needed) => {
                let mut room = [0; LONGEST_HEADER];
                let wanted = needed.saturating_sub(bytes.len()).clamp(1, room.len());
                let left = Duration::from_nanos(until.saturating_sub(monotonic_ns()));
                let ready = poll_readable(&[stream.as_fd(), house.stop.fd()], Some(left))
                    .map_err(|cause| cause.to_string())?;
                if ready.get(1).copied().unwrap_or(false) {
                    return Ok(None);
                }
                if !ready.contains(&true) {
                    return Err(format!(
                        "it did not say what it wants within {} s",
                        INTRODUCTION.as_secs()
                    ));
                }
                let mut stream = stream;
                match stream.read(&mut room[..wanted]) {
                    Ok(0) if bytes.is_empty() => return Ok(None),
                    // Too little for a header: then it is payload.
                    Ok(0) => return Ok(Some((Opening::Payload, bytes))),
                    Ok(count) => bytes.extend_from_slice(&room[..count]),
                    Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) if bytes.is_empty() => return Ok(None),
                    Err(cause) => return Err(cause.to_string()),
                }
            }
            other => return Ok(Some((other, bytes))),
        }
    }
}

pub(super) fn opened(stream: &TcpStream) -> Option<Opened> {
    let info = kernel::tcp_info(stream).ok()?;
    Some(Opened {
        cwnd_bytes: u64::from(info.snd_cwnd) * u64::from(info.snd_mss),
        mss: info.snd_mss,
        rtt_us: info.rtt_us,
    })
}

pub(super) fn serve_tcp(
    house: &Arc<House>,
    stream: TcpStream,
    peer: SocketAddr,
) -> Result<(), String> {
    let said = |cause: io::Error| cause.to_string();
    let _ = stream.set_nonblocking(false);
    let first_state = opened(&stream);
    let read = read_opening(house, &stream);
    house.undecided.fetch_sub(1, Ordering::Relaxed);
    let Some((opening, bytes)) = read? else {
        return Ok(());
    };
    let _guest: Guest = house.guests.admit(peer.ip())?;
    house.prove(peer.ip());
    let start_ns = monotonic_ns();
    // A peer that vanishes is noticed; a kernel without the option waits longer.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(Duration::from_secs(30)));
    if house.options.no_delay {
        let _ = stream.set_nodelay(true);
    }
    let header = match &opening {
        Opening::Test(header, _) => Some(*header),
        _ => None,
    };
    let local = plain(stream.local_addr().map_err(said)?);
    let link = Arc::new(Link::Tcp(stream));
    let mut visit = Visit::new(house, header, start_ns, &link, local, peer);
    visit.info.opened = first_state;
    let way = visit.info.way;
    (house.tell)(Event::Connected(Arc::new(visit.info.clone())));
    if let (Link::Tcp(stream), Some(header)) = (&*link, header)
        && header.is_answered()
    {
        let now = super::wall();
        let times = visit.info.trip_times.then(|| [now, now, super::wall()]);
        let ack = Ack {
            version: VERSION,
            times,
        };
        let mut stream = stream;
        let _ = stream.write_all(&ack.encode());
    }
    let mut bell = Bell::new().map_err(said)?;
    let base = bytes.len() as u64;
    let mut legs = Vec::new();
    let (time, amount) = visit.end();
    let length = header.map_or(0, |header| header.length).min(MAX_BLOCK);
    let length = match length {
        0 => house.options.length.unwrap_or(128 << 10),
        length => length as usize,
    };
    if let Opening::Bounceback = opening {
        let carry = over_tcp(move |stream, work| bounce(stream, bytes, work));
        legs.push(visit.start(visit.info.clone(), &link, base, &bell, carry)?);
    } else {
        if way != Way::Reverse {
            let (distribution, discard) = (house.options.distribution, house.options.discard);
            let read = house.options.length.unwrap_or(128 << 10);
            let carry = over_tcp(move |stream, work| {
                tcp::receive(stream, read, distribution, discard, work)
            });
            legs.push(visit.start(visit.info.clone(), &link, base, &bell, carry)?);
        }
        if matches!(way, Way::Reverse | Way::FullDuplex) {
            if let (Link::Tcp(stream), Some(extended)) = (&*link, visit.extended())
                && extended.tos != 0
            {
                let _ = set_tos(
                    stream,
                    stream.local_addr().is_ok_and(|at| at.is_ipv6()),
                    extended.tos as u8,
                );
            }
            let sending = tcp::Sending {
                payload: block(length),
                length,
                rate: house.rate(visit.asked_rate()),
                bytes: amount,
                bursts: visit.info.trip_times,
                alone: way == Way::Reverse,
            };
            let carry = over_tcp(move |stream, work| tcp::send(stream, sending, work));
            legs.push(visit.start(visit.sender(), &link, 0, &bell, carry)?);
        }
        if way == Way::Dual
            && let Some(leg) = visit.connect_back(&bell, Over::Tcp)
        {
            legs.push(leg);
        }
    }
    let (_, failure) = run(house, &mut legs, &mut bell, time, house.options.idle);
    if way == Way::FullDuplex
        && let Link::Tcp(stream) = &*link
    {
        await_close(stream);
    }
    drop(legs);
    drop(link);
    if way == Way::Tradeoff
        && !house.is_stopping()
        && let Some(leg) = visit.connect_back(&bell, Over::Tcp)
    {
        run(house, &mut [leg], &mut bell, time, house.options.idle);
    }
    match failure {
        Some(why) if !house.is_stopping() => Err(why),
        _ => Ok(()),
    }
}

/// Sends requests back as they come.
pub(super) fn bounce(
    stream: &TcpStream,
    mut request: Vec<u8>,
    work: &super::leg::Work,
) -> io::Result<()> {
    let mut stream = stream;
    let _ = stream.set_nodelay(true);
    let mut moved = 0;
    let mut calls = 0;
    loop {
        let before = request.len();
        request.resize(BOUNCEBACK.max(before), 0);
        if let Err(cause) = stream.read_exact(&mut request[before..]) {
            return match cause.kind() {
                io::ErrorKind::UnexpectedEof => Ok(()),
                _ if work.orders.stopped() => Ok(()),
                _ => Err(cause),
            };
        }
        let Some(head) = Bounceback::decode(&request) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a request of a size that is not served (64 B to 1 MiB)",
            ));
        };
        let received = super::wall();
        request.resize(head.size as usize, 0);
        stream.read_exact(&mut request[BOUNCEBACK..])?;
        if head.hold_us > 0 {
            sleep_until(monotonic_ns() + u64::from(head.hold_us.min(1_000_000)) * 1000);
        }
        if head.stop {
            return Ok(());
        }
        request.resize(head.reply as usize, 0);
        Bounceback::stamp(&mut request, received, super::wall());
        if head.quick_ack {
            let _ = kernel::set_quickack(stream, true);
        }
        stream.write_all(&request)?;
        moved += u64::from(head.size) + u64::from(head.reply);
        calls += 2;
        work.counters.bytes.store(moved, Ordering::Relaxed);
        work.counters.calls.store(calls, Ordering::Relaxed);
        request.clear();
    }
}
