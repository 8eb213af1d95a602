//! The state that all threads of a server of nttcp share.

use caudal_engine::ClientRefusal;
use caudal_engine::admission::{Admission, PlaceLimits, Places};
use caudal_engine::server::{SessionEvent, SessionEventKind, SessionEventSender};
use caudal_flow::{SessionLimits, StopSignal};
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The settings of a server of nttcp.
#[derive(Debug, Clone)]
pub struct NttcpOptions {
    /// The address to listen on; `None` for all.
    pub bind: Option<IpAddr>,
    /// The interface, or VRF, that clients must come by; `None` for any.
    pub device: Option<String>,
    /// The control port; 0 lets the kernel choose.
    pub port: u16,
    /// The limits on each test.
    pub limits: SessionLimits,
    /// The time a client may make no progress.
    pub idle_timeout: Duration,
}

/// The state that all threads of a server of nttcp share.
pub(super) struct NttcpState {
    pub(super) options: NttcpOptions,
    pub(super) port: u16,
    pub(super) admission: Admission,
    pub(super) stop: StopSignal,
    /// Connections that have not sent their line.
    pub(super) pending: Arc<Places>,
    events: SessionEventSender,
    last_session: AtomicU64,
}

impl NttcpState {
    pub(super) fn new(
        options: NttcpOptions,
        port: u16,
        admission: Admission,
        events: SessionEventSender,
    ) -> io::Result<Self> {
        Ok(Self {
            options,
            port,
            admission,
            stop: StopSignal::new()?,
            pending: Places::new(PlaceLimits::PENDING),
            events,
            last_session: AtomicU64::new(0),
        })
    }

    /// The number of the next session.
    pub(super) fn next_session(&self) -> u64 {
        self.last_session.fetch_add(1, Relaxed) + 1
    }

    pub(super) fn send_event(&self, session: u64, peer: SocketAddr, kind: SessionEventKind) {
        self.events.send(SessionEvent {
            session,
            protocol: Protocol::Nttcp,
            peer: Some(peer),
            kind,
        });
    }

    /// Reports a client that was refused.
    pub(super) fn send_refused(&self, peer: SocketAddr, refusal: ClientRefusal) {
        self.send_event(0, peer, SessionEventKind::Refused(refusal));
    }
}
