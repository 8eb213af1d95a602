//! The server's front desk: takes connections in, reads who they are, and shows them to their place.
//!
//! One thread, nothing in it waits for anybody: a connection that says nothing costs a descriptor until
//! its deadline, and the oldest of too many is shown out.

use crate::iperf3::{self, Delivery};
use crate::server::{Arrival, ServerEvent, Shared};
use crate::session;
use crate::socket::{answer_udp, not_yet, plain};
use crate::stop::reap;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::udp::receive_with_destination;
use caudal_wire::datagram::{Kind, OPENING, Opening};
use caudal_wire::frame;
use caudal_wire::iperf3::State;
use caudal_wire::iperf3::cookie::{COOKIE, Cookie};
use caudal_wire::iperf3::datagram::answer_to;
use caudal_wire::message::{Refusal, ToClient};
use caudal_wire::preamble::{Answer, MAGIC, PREAMBLE, PreambleError, Purpose};
use std::io::{self, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket,
};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How long a connection may take to say what it is.
const INTRODUCTION_NS: u64 = 5_000_000_000;
/// How long a connection that was turned away is kept so that it can read why.
const FAREWELL_NS: u64 = 1_000_000_000;
/// How long a newcomer waits for a place when all are taken: a client that has its result gives its place
/// back a moment after, and whoever comes next is not to suffer for that moment.
const PATIENCE_NS: u64 = 1_000_000_000;
/// How often the places are looked at while somebody waits for one.
const LOOK: Duration = Duration::from_millis(5);
/// Connections that have not said what they are, at most.
const MOST_PENDING: usize = 512;
const SESSION_STACK: usize = 512 << 10;

struct Pending {
    stream: TcpStream,
    peer: SocketAddr,
    /// Its place in the order of accepting.
    serial: u64,
    /// Our preamble, or an iperf3 cookie.
    first: [u8; COOKIE],
    filled: usize,
    deadline_ns: u64,
    /// Until when it waits for a place; `None` while none was refused to it.
    patience_ns: Option<u64>,
    /// Why it may not come in, from a network that is not answered: told in its own protocol.
    denied: Option<String>,
    /// Turned away: only read until it has gone.
    leaving: bool,
}

/// Serves the front desk until the server is stopped, or its one client has left.
pub(crate) fn receive(shared: &Arc<Shared>, tcp: &TcpListener, udp: &UdpSocket) {
    let _ = tcp.set_nonblocking(true);
    let _ = udp.set_nonblocking(true);
    let port = tcp.local_addr().map_or(0, |local| local.port());
    let mut pending: Vec<Pending> = Vec::new();
    let (mut clients, mut serial) = (0, 0);
    while !shared.is_stopping() && !shared.is_done() {
        let mut waiting: Vec<BorrowedFd<'_>> = vec![tcp.as_fd(), udp.as_fd(), shared.stop_fd()];
        // Whoever waits for a place has nothing to say before it has one; its entry only keeps the order.
        waiting.extend(pending.iter().map(|one| match one.waits_for_a_place() {
            true => shared.stop_fd(),
            false => one.stream.as_fd(),
        }));
        let soonest = pending.iter().map(|pending| pending.deadline_ns).min();
        let mut wait = soonest.map_or(Duration::from_secs(1), |at| {
            Duration::from_nanos(at.saturating_sub(monotonic_ns()))
        });
        if shared.options.one_off {
            // The last client's leaving is seen by looking.
            wait = wait.min(Duration::from_millis(50));
        }
        if pending.iter().any(Pending::waits_for_a_place) {
            wait = wait.min(LOOK);
        }
        let ready = match poll_readable(&waiting, Some(wait)) {
            Ok(ready) => ready,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => {
                // Out of memory at worst: try again, not at full speed.
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let is_ready = |nth: usize| ready.get(nth).copied().unwrap_or(false);
        let now = monotonic_ns();
        let mut kept = Vec::with_capacity(pending.len());
        for (nth, mut one) in pending.drain(..).enumerate() {
            let reading = match (one.waits_for_a_place(), is_ready(3 + nth)) {
                // What it says meanwhile is for whom it is shown to.
                (true, _) => Reading::Whole,
                (false, true) => one.read(),
                (false, false) => Reading::More,
            };
            match reading {
                Reading::More => {}
                Reading::Gone => continue,
                Reading::Whole => match place(shared, &mut one, &mut clients) {
                    Placed::Away => one.leaving = true,
                    Placed::Later => {}
                    Placed::Inside(move_in) => {
                        move_in(one.stream);
                        continue;
                    }
                },
            }
            if now < one.deadline_ns {
                kept.push(one);
            } else if !one.leaving {
                let why = "it did not say what it is within 5 s".to_owned();
                shared.tell(ServerEvent::Refused {
                    peer: one.peer,
                    why,
                });
            }
        }
        pending = kept;
        if is_ready(0) {
            accept(shared, tcp, &mut pending, &mut serial);
        }
        if is_ready(1) {
            open_udp(shared, udp, port);
        }
        reap(&mut shared.sessions());
    }
}

fn accept(shared: &Shared, tcp: &TcpListener, pending: &mut Vec<Pending>, serial: &mut u64) {
    // A bound on one round, so that a flood of connections does not starve those inside.
    for _ in 0..64 {
        let (stream, peer) = match tcp.accept() {
            Ok(accepted) => accepted,
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
            Err(_) => {
                // Out of descriptors, or a connection that went away: the oldest waiting one makes room.
                if !pending.is_empty() {
                    pending.remove(0);
                }
                thread::sleep(Duration::from_millis(1));
                return;
            }
        };
        let peer = plain(peer);
        if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
            continue;
        }
        if pending.len() >= MOST_PENDING {
            pending.remove(0);
        }
        let denied = shared.guests.may_enter(peer.ip()).err();
        let patience = if denied.is_some() {
            FAREWELL_NS
        } else {
            INTRODUCTION_NS
        };
        *serial += 1;
        pending.push(Pending {
            stream,
            peer,
            serial: *serial,
            first: [0; COOKIE],
            filled: 0,
            deadline_ns: monotonic_ns() + patience,
            patience_ns: None,
            denied,
            leaving: false,
        });
    }
}

enum Reading {
    More,
    Whole,
    Gone,
}

impl Pending {
    fn read(&mut self) -> Reading {
        if self.leaving {
            let mut nothing = [0; 4096];
            return match self.stream.read(&mut nothing) {
                Ok(0) => Reading::Gone,
                Err(cause) if cause.kind() != io::ErrorKind::WouldBlock => Reading::Gone,
                _ => Reading::More,
            };
        }
        // Never beyond what says who it is: what follows is for whom it is shown to.
        let due = if self.may_be_iperf3() {
            COOKIE
        } else {
            PREAMBLE
        };
        let due = if self.filled == 0 { PREAMBLE } else { due };
        match self.stream.read(&mut self.first[self.filled..due]) {
            Ok(0) => Reading::Gone,
            Ok(count) => {
                self.filled += count;
                // Another protocol is recognised without waiting for a whole preamble of it.
                let whole = match (self.may_be_native(), self.may_be_iperf3()) {
                    (true, _) => self.filled == PREAMBLE,
                    (false, true) => self.filled == COOKIE,
                    (false, false) => true,
                };
                if whole { Reading::Whole } else { Reading::More }
            }
            Err(cause) if not_yet(&cause) => Reading::More,
            Err(_) => Reading::Gone,
        }
    }

    const fn waits_for_a_place(&self) -> bool {
        self.patience_ns.is_some() && !self.leaving
    }

    /// Whether it may wait (longer) for a place to become free.
    fn may_wait(&mut self, shared: &Shared) -> bool {
        // A server for one visit has no second place to give.
        if shared.options.one_off {
            return false;
        }
        let now = monotonic_ns();
        let until = *self.patience_ns.get_or_insert(now + PATIENCE_NS);
        self.deadline_ns = self.deadline_ns.max(until + FAREWELL_NS);
        now < until
    }

    fn may_be_native(&self) -> bool {
        let known = MAGIC.len().min(self.filled);
        self.first[..known] == MAGIC[..known]
    }

    fn may_be_iperf3(&self) -> bool {
        !self.may_be_native() && Cookie::may_begin_with(&self.first[..self.filled])
    }

    fn preamble(&self) -> [u8; PREAMBLE] {
        let mut preamble = [0; PREAMBLE];
        preamble.copy_from_slice(&self.first[..PREAMBLE]);
        preamble
    }

    /// Says in iperf3's way that there is no place for it.
    fn deny(&mut self, shared: &Shared, why: String) {
        let _ = self.stream.write_all(&[State::AccessDenied.byte()]);
        self.see_out(shared, why);
    }

    fn see_out(&mut self, shared: &Shared, why: String) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.leaving = true;
        self.deadline_ns = monotonic_ns() + FAREWELL_NS;
        let peer = self.peer;
        shared.tell(ServerEvent::Refused { peer, why });
    }

    fn turn_away(&mut self, shared: &Shared, reason: Refusal, message: String) {
        let _ = self.stream.write_all(&Answer::Refused.encode());
        if let Ok(bytes) = frame::encode(&ToClient::Refused {
            reason,
            message: message.clone(),
        }) {
            let _ = self.stream.write_all(&bytes);
        }
        self.see_out(shared, message);
    }
}

enum Placed {
    Away,
    /// All places are taken, and one may become free soon.
    Later,
    Inside(Box<dyn FnOnce(TcpStream)>),
}

/// Gives a newcomer a place and a thread that serves it; why there is none for it, otherwise.
fn admit(
    shared: &Arc<Shared>,
    peer: SocketAddr,
    clients: &mut u64,
    serve: impl FnOnce(&Arc<Shared>, TcpStream, u64) + Send + 'static,
) -> Result<Placed, String> {
    let most = shared.options.max_clients;
    let most = if shared.options.one_off {
        most.min(1)
    } else {
        most
    };
    // Guests of other protocols take places meanwhile.
    shared
        .guests
        .take(most)
        .map_err(|taken| format!("all {taken} places are taken; try again later"))?;
    *clients += 1;
    let (shared, number) = (Arc::clone(shared), *clients);
    Ok(Placed::Inside(Box::new(move |stream| {
        let inside = Arc::clone(&shared);
        let session = thread::Builder::new()
            .name(format!("client {number}"))
            .stack_size(SESSION_STACK)
            .spawn(move || {
                let _guest = inside.guests.guest();
                serve(&inside, stream, number);
            });
        match session {
            Ok(session) => shared.sessions().push(session),
            Err(cause) => {
                shared.guests.give_back();
                let why = format!("no thread for it: {cause}");
                shared.tell(ServerEvent::Refused { peer, why });
            }
        }
    })))
}

/// Shows a client of iperf3 to its test, or lets it begin one.
fn place_iperf3(
    shared: &Arc<Shared>,
    one: &mut Pending,
    cookie: Cookie,
    clients: &mut u64,
) -> Placed {
    let peer = one.peer;
    let Ok(stream) = one.stream.try_clone() else {
        one.deny(shared, "no descriptor for it".to_owned());
        return Placed::Away;
    };
    match shared.desk.deliver(&cookie, one.serial, stream) {
        // The connection lives on in the test.
        Delivery::Taken => Placed::Inside(Box::new(drop)),
        Delivery::Unwanted => {
            let why = "its test wants no more data connections".to_owned();
            one.deny(shared, why);
            Placed::Away
        }
        Delivery::New => {
            let serve = move |shared: &Arc<Shared>, stream, number| {
                iperf3::serve(shared, stream, peer, number, cookie);
            };
            admit(shared, peer, clients, serve).unwrap_or_else(|why| {
                if one.may_wait(shared) {
                    return Placed::Later;
                }
                one.deny(shared, why);
                Placed::Away
            })
        }
    }
}

fn place(shared: &Arc<Shared>, one: &mut Pending, clients: &mut u64) -> Placed {
    let cookie = Cookie::decode(&one.first).filter(|_| shared.options.iperf3.enabled);
    if let Some(message) = one.denied.take() {
        match cookie {
            Some(_) => one.deny(shared, message),
            None => one.turn_away(shared, Refusal::Denied, message),
        }
        return Placed::Away;
    }
    if let Some(cookie) = cookie {
        return place_iperf3(shared, one, cookie, clients);
    }
    match Purpose::decode(&one.preamble()) {
        Ok(Purpose::Control) => {
            let peer = one.peer;
            let serve = move |shared: &Arc<Shared>, stream, number| {
                session::serve(shared, stream, peer, number);
            };
            admit(shared, peer, clients, serve).unwrap_or_else(|message| {
                if one.may_wait(shared) {
                    return Placed::Later;
                }
                one.turn_away(shared, Refusal::Full, message);
                Placed::Away
            })
        }
        Ok(Purpose::Data { token, flow }) => {
            let shared = Arc::clone(shared);
            if !shared.mailboxes().contains_key(&token) {
                let message = "no test here has this token".to_owned();
                one.turn_away(&shared, Refusal::Protocol, message);
                return Placed::Away;
            }
            Placed::Inside(Box::new(move |stream| {
                if let Some(mailbox) = shared.mailboxes().get_mut(&token) {
                    let _ = mailbox.arrivals.send(Arrival::Tcp(flow, stream));
                    mailbox.bell.ring();
                }
            }))
        }
        Err(PreambleError::Version(theirs)) => {
            let message = format!(
                "the client speaks protocol {theirs}, this server {}; update the older one",
                caudal_wire::preamble::PROTOCOL
            );
            one.turn_away(shared, Refusal::Version, message);
            Placed::Away
        }
        Err(error) => {
            // Nothing is said to a stranger: what we would say means nothing in its protocol.
            one.see_out(shared, error.to_string());
            Placed::Away
        }
    }
}

/// Opens a socket towards every address that asks with the token of a test, which challenges it; or that
/// says hello in iperf3's way, from the address of a client whose turn it is.
fn open_udp(shared: &Shared, udp: &UdpSocket, port: u16) {
    let mut datagram = [0; OPENING + 1];
    for _ in 0..64 {
        let Ok((size, peer, local)) = receive_with_destination(udp, &mut datagram) else {
            return;
        };
        let peer = plain(peer);
        let any: IpAddr = match peer {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let local = SocketAddr::new(local.map_or(any, |local| local.to_canonical()), port);
        if let Some(answer) = answer_to(&datagram[..size]) {
            shared.desk.greet(peer, answer, || answer_udp(local, peer));
            continue;
        }
        let Some(opening) = Opening::decode(&datagram[..size]) else {
            continue;
        };
        if opening.kind != Kind::Hello {
            continue;
        }
        let mut mailboxes = shared.mailboxes();
        let Some(mailbox) = mailboxes.get_mut(&opening.token) else {
            continue;
        };
        if let Ok(socket) = answer_udp(local, peer) {
            let _ = mailbox
                .arrivals
                .send(Arrival::Udp(opening.flow, socket, peer));
            mailbox.bell.ring();
        }
    }
}
