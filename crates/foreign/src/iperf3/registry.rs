//! The tests of clients of iperf3 that wait for their data connections.

use caudal_flow::{UnvalidatedSocket, Waker};
use caudal_wire::iperf3::Cookie;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A data socket that has arrived.
#[derive(Debug)]
pub(super) enum StreamArrival {
    /// A TCP connection that repeated the cookie, with its position in the order of accepting.
    Tcp(u64, TcpStream),
    /// A UDP socket towards an address that has sent a hello, and the answer to that.
    Udp(SocketAddr, UnvalidatedSocket, [u8; 4]),
}

struct WaitingTest {
    arrivals: Sender<StreamArrival>,
    waker: Waker,
    /// `true` while data connections are expected.
    is_open: bool,
    /// The address whose hellos over UDP belong to it.
    udp_from: Option<IpAddr>,
}

/// The outcome of delivering a connection that named a test.
#[derive(Debug)]
pub(super) enum Delivery {
    /// The test has it.
    Taken,
    /// The test takes no more connections.
    Unwanted(TcpStream),
    /// There is no such test: the connection begins one.
    New(TcpStream),
}

/// The running tests, by their cookies, and the queues of clients at one address.
#[derive(Default)]
pub(super) struct Iperf3Registry {
    tests: Mutex<HashMap<Cookie, WaitingTest>>,
    queues: Mutex<HashMap<IpAddr, VecDeque<(u64, Waker)>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Iperf3Registry {
    /// Registers a test; `false` when one with that cookie is registered already.
    pub(super) fn insert(
        &self,
        cookie: Cookie,
        arrivals: Sender<StreamArrival>,
        waker: Waker,
    ) -> bool {
        let mut tests = locked(&self.tests);
        if tests.contains_key(&cookie) {
            return false;
        }
        let waiting = WaitingTest {
            arrivals,
            waker,
            is_open: false,
            udp_from: None,
        };
        tests.insert(cookie, waiting);
        true
    }

    /// Opens a test for data connections, or closes it; over UDP for those from `udp_from`.
    pub(super) fn open(&self, cookie: &Cookie, is_open: bool, udp_from: Option<IpAddr>) {
        if let Some(waiting) = locked(&self.tests).get_mut(cookie) {
            waiting.is_open = is_open;
            waiting.udp_from = udp_from;
        }
    }

    pub(super) fn remove(&self, cookie: &Cookie) {
        locked(&self.tests).remove(cookie);
    }

    /// Delivers a connection that has named a test to it.
    pub(super) fn deliver(&self, cookie: &Cookie, serial: u64, stream: TcpStream) -> Delivery {
        let mut tests = locked(&self.tests);
        let Some(waiting) = tests.get_mut(cookie) else {
            return Delivery::New(stream);
        };
        if !waiting.is_open || waiting.udp_from.is_some() {
            return Delivery::Unwanted(stream);
        }
        let _ = waiting.arrivals.send(StreamArrival::Tcp(serial, stream));
        waiting.waker.wake();
        Delivery::Taken
    }

    /// Delivers a hello over UDP to the test whose turn it is at that address; `open_socket` makes the socket.
    pub(super) fn greet(
        &self,
        peer: SocketAddr,
        answer: [u8; 4],
        open_socket: impl FnOnce() -> std::io::Result<UnvalidatedSocket>,
    ) {
        let mut tests = locked(&self.tests);
        let is_expected =
            |waiting: &&mut WaitingTest| waiting.is_open && waiting.udp_from == Some(peer.ip());
        if let Some(waiting) = tests.values_mut().find(is_expected)
            && let Ok(socket) = open_socket()
        {
            let _ = waiting
                .arrivals
                .send(StreamArrival::Udp(peer, socket, answer));
            waiting.waker.wake();
        }
    }

    /// Joins the queue of an address: a hello over UDP carries no cookie, so the tests from one address open their streams one
    /// after another.
    pub(super) fn queue(&self, address: IpAddr, number: u64, waker: Waker) -> QueuedTest<'_> {
        locked(&self.queues)
            .entry(address)
            .or_default()
            .push_back((number, waker));
        QueuedTest {
            registry: self,
            address,
            number,
        }
    }
}

/// A position in the queue of an address, left when dropped.
pub(super) struct QueuedTest<'a> {
    registry: &'a Iperf3Registry,
    address: IpAddr,
    number: u64,
}

impl QueuedTest<'_> {
    /// `true` when it is first.
    pub(super) fn is_first(&self) -> bool {
        locked(&self.registry.queues)
            .get(&self.address)
            .and_then(VecDeque::front)
            .is_some_and(|(number, _)| *number == self.number)
    }
}

impl Drop for QueuedTest<'_> {
    fn drop(&mut self) {
        let mut queues = locked(&self.registry.queues);
        if let Some(queue) = queues.get_mut(&self.address) {
            queue.retain(|(number, _)| *number != self.number);
            match queue.front_mut() {
                Some((_, waker)) => waker.wake(),
                None => drop(queues.remove(&self.address)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_flow::Wakeup;

    #[test]
    fn tests_from_one_address_take_turns() {
        let registry = Iperf3Registry::default();
        let wakeups: Vec<Wakeup> = (0..2).map(|_| Wakeup::new().unwrap()).collect();
        let address: IpAddr = "192.0.2.1".parse().unwrap();
        let other: IpAddr = "192.0.2.2".parse().unwrap();
        let first = registry.queue(address, 1, wakeups[0].waker().unwrap());
        let second = registry.queue(address, 2, wakeups[1].waker().unwrap());
        let elsewhere = registry.queue(other, 3, wakeups[0].waker().unwrap());
        assert!(first.is_first() && !second.is_first() && elsewhere.is_first());
        drop(first);
        assert!(second.is_first() && wakeups[1].reset());
        drop(second);
        assert!(!locked(&registry.queues).contains_key(&address));
    }
}
