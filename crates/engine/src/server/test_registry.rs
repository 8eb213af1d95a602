//! The tests that wait for their data sockets.

use crate::workload::ConnectionAnswer;
use caudal_flow::{UnvalidatedSocket, Waker};
use caudal_wire::preamble::TestToken;
use std::collections::HashMap;
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

/// The tests that wait for their data sockets, and those that run and answer new connections, by their tokens.
#[derive(Default)]
pub(super) struct TestRegistry {
    waiting: Mutex<HashMap<TestToken, TestInbox>>,
    answering: Mutex<HashMap<TestToken, ConnectionAnswer>>,
}

impl TestRegistry {
    fn lock(&self) -> MutexGuard<'_, HashMap<TestToken, TestInbox>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answering(&self) -> MutexGuard<'_, HashMap<TestToken, ConnectionAnswer>> {
        self.answering
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a new connection of a running test; `None` where no running test with this token answers any.
    pub(super) fn connection_answer(&self, token: TestToken) -> Option<ConnectionAnswer> {
        self.answering().get(&token).cloned()
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

    /// Wakes all tests that wait.
    pub(super) fn wake_all(&self) {
        for inbox in self.lock().values() {
            inbox.waker.wake();
        }
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

/// A running test that answers new connections, until it is dropped.
pub(super) struct AnsweringTest<'a> {
    tests: &'a TestRegistry,
    token: TestToken,
}

impl<'a> AnsweringTest<'a> {
    pub(super) fn new(tests: &'a TestRegistry, token: TestToken, answer: ConnectionAnswer) -> Self {
        tests.answering().insert(token, answer);
        Self { tests, token }
    }
}

impl Drop for AnsweringTest<'_> {
    fn drop(&mut self) {
        self.tests.answering().remove(&self.token);
    }
}
