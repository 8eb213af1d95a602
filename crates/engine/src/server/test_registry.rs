//! The tests that wait for their data sockets.

use crate::address_validation::UnvalidatedSocket;
use crate::wakeup::Waker;
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

/// The tests that wait for their data sockets, by their tokens.
#[derive(Default)]
pub(super) struct TestRegistry(Mutex<HashMap<TestToken, TestInbox>>);

impl TestRegistry {
    fn lock(&self) -> MutexGuard<'_, HashMap<TestToken, TestInbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
