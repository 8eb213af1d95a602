//! A connection that has not shown yet what it is for.

use super::shared_port::{MAX_FIRST_BYTES, Recognition, SharedPortProtocol};
use super::state::ServerState;
use crate::admission::NotAdmitted;
use crate::client_refusal::ClientRefusal;
use caudal_flow::socket::is_retryable;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::frame;
use caudal_wire::message::ToClient;
use caudal_wire::preamble::{MAGIC, PREAMBLE_BYTES, PreambleAnswer};
use caudal_wire::protocol::Protocol;
use socket2::SockRef;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;

/// The time a connection may take to show what it is for.
const PREAMBLE_NS: u64 = 5_000_000_000;
/// The time a refused connection is kept so that it can read the reason.
const REFUSED_NS: u64 = 1_000_000_000;
/// The time a client waits for a slot when all are in use: a client that has its result frees its slot shortly after, and the
/// next client is not to fail for that.
const SLOT_WAIT_NS: u64 = 1_000_000_000;

/// The outcome of reading from a pending connection.
pub(super) enum PendingRead {
    /// More bytes are needed.
    Incomplete,
    /// The first bytes are complete.
    Complete,
    /// The connection is closed.
    Closed,
}

/// A connection that has not shown yet what it is for, or was refused.
pub(super) struct PendingStream {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// Its position in the order of accepting.
    pub(super) serial: u64,
    /// A native preamble, or what a connection of another protocol begins with.
    first: [u8; MAX_FIRST_BYTES],
    filled: usize,
    pub(super) deadline_ns: u64,
    /// The time until which it waits for a slot; `None` while none was refused to it.
    slot_until_ns: Option<u64>,
    /// The reason why its address is not admitted: sent in its own protocol.
    pub(super) denied: Option<NotAdmitted>,
    /// Set when it was refused, or answered: it is only read until it has closed.
    pub(super) is_refused: bool,
}

impl PendingStream {
    pub(super) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        serial: u64,
        denied: Option<NotAdmitted>,
    ) -> Self {
        let patience_ns = if denied.is_some() {
            REFUSED_NS
        } else {
            PREAMBLE_NS
        };
        Self {
            stream,
            peer,
            serial,
            first: [0; MAX_FIRST_BYTES],
            filled: 0,
            deadline_ns: monotonic_ns() + patience_ns,
            slot_until_ns: None,
            denied,
            is_refused: false,
        }
    }

    /// Reads what has arrived, never beyond the first bytes: what follows belongs to the session.
    pub(super) fn read(&mut self, shared_port: &[Arc<dyn SharedPortProtocol>]) -> PendingRead {
        if self.is_refused {
            let mut discarded = [0; 4096];
            return match self.stream.read(&mut discarded) {
                Ok(0) => PendingRead::Closed,
                Err(cause) if !is_retryable(&cause) => PendingRead::Closed,
                _ => PendingRead::Incomplete,
            };
        }
        let end = self.missing_bytes(shared_port).unwrap_or(PREAMBLE_BYTES);
        let room = self.first.get_mut(self.filled..end).unwrap_or_default();
        match self.stream.read(room) {
            Ok(0) => PendingRead::Closed,
            Ok(count) => {
                self.filled += count;
                match self.missing_bytes(shared_port) {
                    Some(_) => PendingRead::Incomplete,
                    None => PendingRead::Complete,
                }
            }
            Err(cause) if is_retryable(&cause) => PendingRead::Incomplete,
            Err(_) => PendingRead::Closed,
        }
    }

    /// `true` while it waits for a slot.
    pub(super) const fn waits_for_slot(&self) -> bool {
        self.slot_until_ns.is_some() && !self.is_refused
    }

    /// `true` when it may wait, or wait longer, for a slot to become free.
    pub(super) fn may_wait_for_slot(&mut self, state: &ServerState) -> bool {
        // A server for one client has no second slot.
        if state.options.one_off {
            return false;
        }
        let now = monotonic_ns();
        let until_ns = *self.slot_until_ns.get_or_insert(now + SLOT_WAIT_NS);
        self.deadline_ns = self.deadline_ns.max(until_ns + REFUSED_NS);
        now < until_ns
    }

    fn may_be_native(&self) -> bool {
        self.first()
            .iter()
            .zip(&MAGIC)
            .all(|(byte, magic)| byte == magic)
    }

    /// The number of first bytes, in all, that show what the connection is for; `None` when they have arrived. Another protocol may
    /// be excluded before as many bytes have arrived as a preamble has.
    fn missing_bytes(&self, shared_port: &[Arc<dyn SharedPortProtocol>]) -> Option<usize> {
        if self.may_be_native() {
            return (self.filled < PREAMBLE_BYTES).then_some(PREAMBLE_BYTES);
        }
        shared_port
            .iter()
            .find_map(|protocol| match protocol.recognise(self.first()) {
                Recognition::Incomplete(bytes) => Some(bytes.min(MAX_FIRST_BYTES)),
                Recognition::Other | Recognition::Recognised => None,
            })
            .filter(|bytes| self.filled < *bytes)
    }

    /// The first bytes that have arrived.
    pub(super) fn first(&self) -> &[u8] {
        self.first.get(..self.filled).unwrap_or_default()
    }

    /// The protocol, other than caudal's own, that recognises the first bytes.
    pub(super) fn recognised(
        &self,
        shared_port: &[Arc<dyn SharedPortProtocol>],
    ) -> Option<Arc<dyn SharedPortProtocol>> {
        let recognises = |protocol: &&Arc<dyn SharedPortProtocol>| {
            protocol.recognise(self.first()) == Recognition::Recognised
        };
        shared_port.iter().find(recognises).map(Arc::clone)
    }

    /// The first bytes as those of a native preamble.
    pub(super) fn preamble(&self) -> [u8; PREAMBLE_BYTES] {
        let mut preamble = [0; PREAMBLE_BYTES];
        preamble.copy_from_slice(&self.first[..PREAMBLE_BYTES]);
        preamble
    }

    /// Refuses a native client, with the reason.
    pub(super) fn refuse(&mut self, state: &ServerState, refusal: ClientRefusal) {
        let _ = self.stream.write_all(&PreambleAnswer::Refused.encode());
        if let Ok(bytes) = frame::encode(&ToClient::Refused {
            reason: refusal.kind,
            message: refusal.message.clone(),
            instance: Some(state.instance),
        }) {
            let _ = self.stream.write_all(&bytes);
        }
        self.close(state, Protocol::Native, refusal);
    }

    /// Refuses a client of another protocol.
    pub(super) fn refuse_shared(
        &mut self,
        protocol: &dyn SharedPortProtocol,
        state: &ServerState,
        refusal: ClientRefusal,
    ) {
        protocol.refuse(&mut self.stream);
        self.close(state, protocol.protocol(), refusal);
    }

    /// Refuses a client of an unknown protocol, without an answer that it could not read.
    pub(super) fn refuse_unknown(&mut self, state: &ServerState, refusal: ClientRefusal) {
        self.close(state, Protocol::Native, refusal);
    }

    /// Answers a request beside a running test; the connection is then read until its client has closed it.
    pub(super) fn answer_probe(&mut self) {
        let _ = self.stream.write_all(&PreambleAnswer::Attached.encode());
        let _ = self.stream.shutdown(Shutdown::Write);
        self.is_refused = true;
        self.deadline_ns = monotonic_ns() + REFUSED_NS;
    }

    /// Answers a connection that is closed then: the answer and the end leave in one segment.
    pub(super) fn answer_at_once(&self) {
        let answer = PreambleAnswer::Attached.encode();
        let flags = libc::MSG_MORE | libc::MSG_NOSIGNAL;
        let _ = SockRef::from(&self.stream).send_with_flags(&answer, flags);
    }

    fn close(&mut self, state: &ServerState, protocol: Protocol, refusal: ClientRefusal) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.is_refused = true;
        self.deadline_ns = monotonic_ns() + REFUSED_NS;
        state.send_refused(protocol, self.peer, refusal);
    }
}
