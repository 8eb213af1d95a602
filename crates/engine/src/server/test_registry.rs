//! The tests that wait for their data sockets.

use crate::address_validation::UnvalidatedSocket;
use crate::wakeup::Waker;
use caudal_wire::preamble::TestToken;
use std::collections::{HashMap, HashSet};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A data socket that has arrived for a test.
#[derive(Debug)]
pub(super) enum ArrivedSocket {
    /// A TCP connection that named the test and this flow.
    Tcp(u32, TcpStream),
    /// A UDP socket towards an address that sent the test's token for this flow.
    Udp(u32, UnvalidatedSocket, SocketAddr),
}

/// The inbox to which the data sockets of one test are delivered.
struct TestInbox {
    sockets: Sender<ArrivedSocket>,
    waker: Waker,
}

/// The tests that wait for their data sockets, and those that run and answer requests on new connections, by their tokens.
#[derive(Default)]
pub(super) struct TestRegistry {
    waiting: Mutex<HashMap<TestToken, TestInbox>>,
    probed: Mutex<HashSet<TestToken>>,
}

impl TestRegistry {
    fn lock(&self) -> MutexGuard<'_, HashMap<TestToken, TestInbox>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn probed(&self) -> MutexGuard<'_, HashSet<TestToken>> {
        self.probed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `true` when a running test with this token answers requests on new connections.
    pub(super) fn answers_probes(&self, token: TestToken) -> bool {
        self.probed().contains(&token)
    }

    /// Registers a test.
    pub(super) fn insert(&self, token: TestToken, sockets: Sender<ArrivedSocket>, waker: Waker) {
        self.lock().insert(token, TestInbox { sockets, waker });
    }

    /// Removes a test.
    pub(super) fn remove(&self, token: TestToken) {
        self.lock().remove(&token);
    }

    /// `true` when a test with this token is registered.
    pub(super) fn contains(&self, token: TestToken) -> bool {
        self.lock().contains_key(&token)
    }

    /// Delivers the socket that `open` makes to a test, where it is registered.
    pub(super) fn deliver(&self, token: TestToken, open: impl FnOnce() -> Option<ArrivedSocket>) {
        if let Some(inbox) = self.lock().get(&token)
            && let Some(socket) = open()
        {
            let _ = inbox.sockets.send(socket);
            inbox.waker.wake();
        }
    }
}

/// A running test that answers requests on new connections, until it is dropped.
pub(super) struct ProbedTest<'a> {
    tests: &'a TestRegistry,
    token: TestToken,
}

impl<'a> ProbedTest<'a> {
    pub(super) fn new(tests: &'a TestRegistry, token: TestToken) -> Self {
        tests.probed().insert(token);
        Self { tests, token }
    }
}

impl Drop for ProbedTest<'_> {
    fn drop(&mut self) {
        self.tests.probed().remove(&self.token);
    }
}
