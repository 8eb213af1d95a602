//! The state that all threads of a server share.

use super::options::ServerOptions;
use super::session_event::{SessionEvent, SessionEventKind, SessionEventSender};
use super::test_registry::TestRegistry;
use crate::admission::Admission;
use crate::client_refusal::ClientRefusal;
use crate::peer::iperf3::Iperf3Registry;
use crate::protocol::Protocol;
use crate::stop::StopSignal;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The state that all threads of a server share.
pub(crate) struct ServerState {
    pub(crate) options: ServerOptions,
    /// The slots, which clients of other protocols occupy as well.
    pub(crate) admission: Admission,
    pub(crate) stop: StopSignal,
    pub(super) tests: TestRegistry,
    /// The tests of clients of iperf3.
    pub(crate) iperf3_tests: Iperf3Registry,
    events: SessionEventSender,
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
            ),
            options,
            stop: StopSignal::new()?,
            tests: TestRegistry::default(),
            iperf3_tests: Iperf3Registry::default(),
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
