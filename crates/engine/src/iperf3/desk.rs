//! Where the front desk finds the tests that wait for their data connections.

use crate::bell::Ringer;
use caudal_wire::iperf3::Cookie;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A data socket that has arrived.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A TCP connection that repeated the cookie, with its place in the order of accepting.
    Tcp(u64, TcpStream),
    /// A UDP socket towards an address that has said hello, and the answer due to it.
    Udp(SocketAddr, UdpSocket, [u8; 4]),
}

struct Waiting {
    arrivals: Sender<Arrival>,
    bell: Ringer,
    /// Whether data connections are still due.
    open: bool,
    /// Whose hellos over UDP belong to it.
    udp_from: Option<IpAddr>,
}

/// What became of a connection that named a test.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Delivery {
    /// It has been handed over.
    Taken,
    /// The test wants no more connections.
    Unwanted,
    /// There is no such test: the connection is to begin one.
    New,
}

/// The tests that are going on, by their cookies; and the turns of clients at one address.
#[derive(Default)]
pub(crate) struct Desk {
    tests: Mutex<HashMap<Cookie, Waiting>>,
    turns: Mutex<HashMap<IpAddr, VecDeque<(u64, Ringer)>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Desk {
    /// Enters a test; `false` when one of that name is there already.
    pub(super) fn enter(&self, cookie: Cookie, arrivals: Sender<Arrival>, bell: Ringer) -> bool {
        let mut tests = locked(&self.tests);
        if tests.contains_key(&cookie) {
            return false;
        }
        let waiting = Waiting {
            arrivals,
            bell,
            open: false,
            udp_from: None,
        };
        tests.insert(cookie, waiting);
        true
    }

    /// Opens a test for data connections, or closes it; over UDP for those from `udp_from`.
    pub(super) fn open(&self, cookie: &Cookie, open: bool, udp_from: Option<IpAddr>) {
        if let Some(waiting) = locked(&self.tests).get_mut(cookie) {
            waiting.open = open;
            waiting.udp_from = udp_from;
        }
    }

    pub(super) fn leave(&self, cookie: &Cookie) {
        locked(&self.tests).remove(cookie);
    }

    /// Hands a connection that has named a test to it, or drops this end of it.
    pub(crate) fn deliver(&self, cookie: &Cookie, serial: u64, stream: TcpStream) -> Delivery {
        let mut tests = locked(&self.tests);
        let Some(waiting) = tests.get_mut(cookie) else {
            return Delivery::New;
        };
        if !waiting.open || waiting.udp_from.is_some() {
            return Delivery::Unwanted;
        }
        let _ = waiting.arrivals.send(Arrival::Tcp(serial, stream));
        waiting.bell.ring();
        Delivery::Taken
    }

    /// Hands a hello over UDP to the test whose turn it is at that address; `socket` makes the socket.
    pub(crate) fn greet(
        &self,
        peer: SocketAddr,
        answer: [u8; 4],
        socket: impl FnOnce() -> std::io::Result<UdpSocket>,
    ) {
        let mut tests = locked(&self.tests);
        let theirs = |waiting: &&mut Waiting| waiting.open && waiting.udp_from == Some(peer.ip());
        if let Some(waiting) = tests.values_mut().find(theirs)
            && let Ok(socket) = socket()
        {
            let _ = waiting.arrivals.send(Arrival::Udp(peer, socket, answer));
            waiting.bell.ring();
        }
    }

    /// Takes a place in the queue of an address: a hello over UDP carries no name, so the tests from one
    /// address open their streams one after another.
    pub(super) fn queue(&self, address: IpAddr, number: u64, bell: Ringer) -> Turn<'_> {
        locked(&self.turns)
            .entry(address)
            .or_default()
            .push_back((number, bell));
        Turn {
            desk: self,
            address,
            number,
        }
    }
}

/// A place in the queue of an address; given up when dropped.
pub(super) struct Turn<'a> {
    desk: &'a Desk,
    address: IpAddr,
    number: u64,
}

impl Turn<'_> {
    /// Whether it is first.
    pub(super) fn has_come(&self) -> bool {
        locked(&self.desk.turns)
            .get(&self.address)
            .and_then(VecDeque::front)
            .is_some_and(|(number, _)| *number == self.number)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut turns = locked(&self.desk.turns);
        if let Some(queue) = turns.get_mut(&self.address) {
            queue.retain(|(number, _)| *number != self.number);
            match queue.front_mut() {
                Some((_, bell)) => bell.ring(),
                None => drop(turns.remove(&self.address)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bell::Bell;

    #[test]
    fn tests_from_one_address_take_turns() {
        let desk = Desk::default();
        let mut bells: Vec<Bell> = (0..2).map(|_| Bell::new().unwrap()).collect();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let other: IpAddr = "192.0.2.2".parse().unwrap();
        let first = desk.queue(address, 1, bells[0].ringer().unwrap());
        let second = desk.queue(address, 2, bells[1].ringer().unwrap());
        let elsewhere = desk.queue(other, 3, bells[0].ringer().unwrap());
        assert!(first.has_come() && !second.has_come() && elsewhere.has_come());
        drop(first);
        assert!(second.has_come() && bells[1].was_rung());
        drop(second);
        assert!(!locked(&desk.turns).contains_key(&address));
    }
}
