//! The running tests with pages, by the secret in the paths of their connections.

use caudal_engine::server::SharedPortDelivery;
use std::collections::HashMap;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Connections of a test that wait until it takes them.
const MAX_WAITING: usize = 32;

/// A connection of a test, of which only the first bytes were read.
#[derive(Debug)]
pub(super) struct ArrivedConnection {
    /// These bytes.
    pub(super) first: Vec<u8>,
    /// The connection.
    pub(super) stream: TcpStream,
}

/// The running tests.
#[derive(Debug, Default)]
pub(crate) struct VisitorRegistry(Mutex<HashMap<String, SyncSender<ArrivedConnection>>>);

impl VisitorRegistry {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, SyncSender<ArrivedConnection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a test.
    pub(super) fn open(&self, secret: String) -> RegisteredVisitor<'_> {
        let (sender, arrivals) = sync_channel(MAX_WAITING);
        self.lock().insert(secret.clone(), sender);
        RegisteredVisitor {
            registry: self,
            secret,
            arrivals,
        }
    }

    /// Gives a connection to the test whose secret it names.
    pub(crate) fn deliver(
        &self,
        secret: &str,
        first: &[u8],
        stream: TcpStream,
    ) -> SharedPortDelivery {
        let tests = self.lock();
        let Some(test) = tests.get(secret) else {
            return SharedPortDelivery::New(stream);
        };
        let first = first.to_vec();
        match test.try_send(ArrivedConnection { first, stream }) {
            Ok(()) => SharedPortDelivery::Taken,
            Err(TrySendError::Full(one) | TrySendError::Disconnected(one)) => {
                SharedPortDelivery::Unwanted(one.stream)
            }
        }
    }
}

/// A registered test, which takes no more connections once this is dropped.
#[derive(Debug)]
pub(super) struct RegisteredVisitor<'a> {
    registry: &'a VisitorRegistry,
    /// Its secret.
    pub(super) secret: String,
    /// The connections that have arrived.
    pub(super) arrivals: Receiver<ArrivedConnection>,
}

impl Drop for RegisteredVisitor<'_> {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.secret);
    }
}
