//! Protocols other than caudal's own whose clients a server answers on its port.

use super::session_event::{SessionEvent, SessionEventKind, SessionEventSender};
use crate::admission::ClientSlot;
use crate::client_refusal::ClientRefusal;
use caudal_flow::{SessionLimits, StopSignal, UnvalidatedSocket};
use caudal_wire::protocol::Protocol;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;

/// The maximum number of first bytes by which a protocol recognises its connections.
pub const MAX_FIRST_BYTES: usize = 64;

/// What the first bytes of a connection show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// It is of another protocol.
    Other,
    /// It may be of this protocol, which is seen by so many bytes in all: at most [`MAX_FIRST_BYTES`].
    Incomplete(usize),
    /// It is of this protocol.
    Recognised,
}

/// What became of a connection that may belong to a running test.
#[derive(Debug)]
pub enum SharedPortDelivery {
    /// The test has it.
    Taken,
    /// Its test takes no more connections.
    Unwanted(TcpStream),
    /// It belongs to no test: it begins a session.
    New(TcpStream),
}

/// A protocol that shares the port of a server with caudal's own.
///
/// The first bytes of a connection belong to the server until the protocol has recognised them; what follows them is the session's.
pub trait SharedPortProtocol: fmt::Debug + Send + Sync {
    /// The protocol.
    fn protocol(&self) -> Protocol;

    /// `true` when its clients must authenticate themselves.
    fn requires_login(&self) -> bool;

    /// Reads the bytes that a connection began with, as many as have arrived.
    fn recognise(&self, first: &[u8]) -> Recognition;

    /// Gives a recognised connection to the running test that its first bytes name; `serial` is its position in the order of
    /// accepting.
    fn deliver(&self, first: &[u8], serial: u64, stream: TcpStream) -> SharedPortDelivery;

    /// Serves a client, whose recognised connection begins a session, until it has left.
    fn serve(&self, client: &SharedPortClient<'_>, first: &[u8], stream: TcpStream);

    /// Tells the client of a recognised connection, in its protocol, that it is refused.
    fn refuse(&self, stream: &mut TcpStream);

    /// Takes a datagram that arrived at the server's port; `false` when it is of another protocol. `open` opens a socket towards its
    /// source.
    fn take_datagram(
        &self,
        datagram: &[u8],
        source: SocketAddr,
        open: &dyn Fn() -> io::Result<UnvalidatedSocket>,
    ) -> bool;
}

/// A client of another protocol that a server has admitted.
pub struct SharedPortClient<'a> {
    pub(super) protocol: Protocol,
    pub(super) peer: SocketAddr,
    pub(super) number: u64,
    pub(super) slot: &'a ClientSlot,
    pub(super) limits: SessionLimits,
    pub(super) stop: &'a StopSignal,
    pub(super) events: &'a SessionEventSender,
}

impl SharedPortClient<'_> {
    /// Its address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The number of its session, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The slot it occupies.
    #[must_use]
    pub const fn slot(&self) -> &ClientSlot {
        self.slot
    }

    /// The server's limits on its tests.
    #[must_use]
    pub const fn limits(&self) -> &SessionLimits {
        &self.limits
    }

    /// `true` once the server is being stopped.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stop.is_requested()
    }

    /// Readable once the server is being stopped.
    #[must_use]
    pub fn stop_fd(&self) -> BorrowedFd<'_> {
        self.stop.fd()
    }

    /// Reports an event of its session.
    pub fn send_event(&self, kind: SessionEventKind) {
        self.send(self.number, kind);
    }

    /// Reports that it was refused before it had a session.
    pub fn send_refused(&self, refusal: ClientRefusal) {
        self.send(0, SessionEventKind::Refused(refusal));
    }

    fn send(&self, session: u64, kind: SessionEventKind) {
        self.events.send(SessionEvent {
            session,
            protocol: self.protocol,
            peer: Some(self.peer),
            kind,
        });
    }
}
