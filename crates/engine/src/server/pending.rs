//! A connection that has not shown yet what it is for.

use super::state::ServerState;
use crate::admission::NotAdmitted;
use crate::client_refusal::ClientRefusal;
use crate::protocol::Protocol;
use crate::socket::is_retryable;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::frame;
use caudal_wire::iperf3::ControlState;
use caudal_wire::iperf3::cookie::{COOKIE_BYTES, Cookie};
use caudal_wire::message::ToClient;
use caudal_wire::preamble::{MAGIC, PREAMBLE_BYTES, PreambleAnswer};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

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
    /// A native preamble, or the cookie of iperf3.
    first: [u8; COOKIE_BYTES],
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
            first: [0; COOKIE_BYTES],
            filled: 0,
            deadline_ns: monotonic_ns() + patience_ns,
            slot_until_ns: None,
            denied,
            is_refused: false,
        }
    }

    /// Reads what has arrived, never beyond the first bytes: what follows belongs to the session.
    pub(super) fn read(&mut self) -> PendingRead {
        if self.is_refused {
            let mut discarded = [0; 4096];
            return match self.stream.read(&mut discarded) {
                Ok(0) => PendingRead::Closed,
                Err(cause) if !is_retryable(&cause) => PendingRead::Closed,
                _ => PendingRead::Incomplete,
            };
        }
        let end = if self.filled > 0 && self.may_be_iperf3() {
            COOKIE_BYTES
        } else {
            PREAMBLE_BYTES
        };
        match self.stream.read(&mut self.first[self.filled..end]) {
            Ok(0) => PendingRead::Closed,
            Ok(count) => {
                self.filled += count;
                // Another protocol is recognised before as many bytes have arrived as a preamble has.
                let is_complete = match (self.may_be_native(), self.may_be_iperf3()) {
                    (true, _) => self.filled == PREAMBLE_BYTES,
                    (false, true) => self.filled == COOKIE_BYTES,
                    (false, false) => true,
                };
                if is_complete {
                    PendingRead::Complete
                } else {
                    PendingRead::Incomplete
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
        let known = MAGIC.len().min(self.filled);
        self.first[..known] == MAGIC[..known]
    }

    fn may_be_iperf3(&self) -> bool {
        !self.may_be_native() && Cookie::may_begin_with(&self.first[..self.filled])
    }

    /// The cookie of a client of iperf3.
    pub(super) fn cookie(&self) -> Option<Cookie> {
        Cookie::decode(&self.first)
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
        }) {
            let _ = self.stream.write_all(&bytes);
        }
        self.close(state, Protocol::Native, refusal);
    }

    /// Refuses a client of iperf3.
    pub(super) fn refuse_iperf3(&mut self, state: &ServerState, refusal: ClientRefusal) {
        let _ = self.stream.write_all(&[ControlState::AccessDenied.byte()]);
        self.close(state, Protocol::Iperf3, refusal);
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

    fn close(&mut self, state: &ServerState, protocol: Protocol, refusal: ClientRefusal) {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.is_refused = true;
        self.deadline_ns = monotonic_ns() + REFUSED_NS;
        state.send_refused(protocol, self.peer, refusal);
    }
}
