//! The state that all threads of a server share.

use super::mtu_probes::MtuProbes;
use super::options::ServerOptions;
use super::session_event::{SessionEvent, SessionEventKind, SessionEventSender};
use super::test_registry::TestRegistry;
use super::test_times::TestTimes;
use crate::admission::Admission;
use crate::client_refusal::ClientRefusal;
use caudal_flow::{StopSignal, random_bytes};
use caudal_wire::protocol::Protocol;
use caudal_wire::server_instance::ServerInstance;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The state that all threads of a server share.
pub(crate) struct ServerState {
    pub(crate) options: ServerOptions,
    /// This server, among those that an address may stand for.
    pub(super) instance: ServerInstance,
    /// The slots, which clients of other protocols occupy as well.
    pub(crate) admission: Admission,
    pub(crate) stop: StopSignal,
    pub(super) tests: TestRegistry,
    /// The times of tests.
    pub(super) test_times: Arc<TestTimes>,
    /// The sessions whose probes of the path MTU are answered.
    pub(super) mtu_probes: MtuProbes,
    /// Connections closed because no descriptor was left.
    without_descriptor: AtomicU64,
    pub(super) events: SessionEventSender,
    sessions: Mutex<Vec<JoinHandle<()>>>,
}

impl ServerState {
    pub(super) fn new(options: ServerOptions, events: SessionEventSender) -> io::Result<Self> {
        Ok(Self {
            admission: Admission::with_share(
                options.allow.clone(),
                options.max_clients,
                options
                    .max_clients_per_source
                    .unwrap_or(Admission::default_share(options.max_clients)),
            )
            .with_memory(options.limits.memory.clone()),
            options,
            instance: ServerInstance(random_bytes()?),
            stop: StopSignal::new()?,
            tests: TestRegistry::default(),
            test_times: Arc::default(),
            mtu_probes: MtuProbes::default(),
            without_descriptor: AtomicU64::new(0),
            events,
            sessions: Mutex::default(),
        })
    }

    pub(crate) fn send_event(
        &self,
        session: u64,
        protocol: Protocol,
        peer: SocketAddr,
        kind: SessionEventKind,
    ) {
        self.events.send(SessionEvent {
            session,
            protocol,
            peer: Some(peer),
            kind,
        });
    }

    /// Reports a client that was refused.
    pub(crate) fn send_refused(
        &self,
        protocol: Protocol,
        peer: SocketAddr,
        refusal: ClientRefusal,
    ) {
        self.send_event(0, protocol, peer, SessionEventKind::Refused(refusal));
    }

    /// Connections closed so far because no descriptor was left.
    pub(super) fn without_descriptor(&self) -> u64 {
        self.without_descriptor.load(Relaxed)
    }

    /// Takes note of a connection closed because no descriptor was left: the tests that wait for connections are told.
    pub(super) fn closed_without_descriptor(&self) {
        self.without_descriptor.fetch_add(1, Relaxed);
        self.tests.wake_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_requested()
    }

    /// Readable once the server is being stopped.
    pub(crate) fn stop_fd(&self) -> BorrowedFd<'_> {
        self.stop.fd()
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `true` when the server was for one client, and that has left.
    pub(super) fn is_done(&self) -> bool {
        self.options.one_off && self.admission.served() > 0 && self.admission.in_use() == 0
    }
}
