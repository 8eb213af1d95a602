//! The end that proposes a session.

use crate::config::TransferConfig;
use crate::error::{AbortCode, TransferError};
use crate::wire::{
    Accept, ControlKind, Hello, HelloRefusal, MAX_TOKEN_BYTES, Retry, VERSION, parse_control,
    session_of, write_control,
};

/// Time before a HELLO is repeated for the first time, ns; it doubles.
const FIRST_WAIT_NS: u64 = 500_000_000;
/// Maximum time between two HELLOs, ns.
const MAX_WAIT_NS: u64 = 4_000_000_000;
/// Maximum wait for a responder, ns.
const GIVE_UP_NS: u64 = 30_000_000_000;

/// The state of an initiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InitiatorStatus {
    /// No answer yet.
    Waiting,
    /// The session is set up with these terms.
    Accepted(Box<TransferConfig>),
    /// There is no session.
    Failed(TransferError),
}

/// The end that proposes a session.
#[derive(Debug)]
pub struct Initiator {
    hello: Hello,
    status: InitiatorStatus,
    is_due: bool,
    began_ns: u64,
    sent_ns: u64,
    wait_ns: u64,
    rtt_ns: Option<u64>,
    /// `true` when the latest HELLO is the only one that its answer can belong to.
    is_unambiguous: bool,
    datagram: Vec<u8>,
}

impl Initiator {
    /// Proposes `config`, with a random `nonce`, as the sender or as the receiver. `token` is what the responder gave this end on another
    /// channel, if it did: at most 64 bytes; it spares a round trip.
    #[must_use]
    pub fn new(
        config: &TransferConfig,
        is_sender: bool,
        nonce: u64,
        token: &[u8],
        now_ns: u64,
    ) -> Self {
        Self {
            hello: Hello {
                nonce,
                version: VERSION,
                is_sender,
                config: config.clone(),
                token: token[..token.len().min(MAX_TOKEN_BYTES)].to_vec(),
                cookie: None,
            },
            status: match config.check() {
                Ok(()) => InitiatorStatus::Waiting,
                Err(error) => InitiatorStatus::Failed(error),
            },
            is_due: true,
            began_ns: now_ns,
            sent_ns: now_ns,
            wait_ns: FIRST_WAIT_NS,
            rtt_ns: None,
            is_unambiguous: false,
            datagram: Vec::new(),
        }
    }

    /// Takes a datagram of the responder. One that does not belong to this proposal is ignored.
    pub fn handle_datagram(&mut self, now_ns: u64, datagram: &[u8]) {
        let (Some((kind, body)), InitiatorStatus::Waiting) =
            (parse_control(datagram), &self.status)
        else {
            return;
        };
        let nonce = self.hello.nonce;
        match kind {
            ControlKind::Retry => {
                if let Some(retry) = Retry::read(body).filter(|retry| retry.nonce == nonce) {
                    self.hello.cookie = Some(retry.cookie);
                    self.is_due = true;
                }
            }
            ControlKind::Accept => {
                if let Some(accept) = Accept::read(body).filter(|accept| accept.nonce == nonce) {
                    self.on_accept(now_ns, session_of(datagram).unwrap_or_default(), accept);
                }
            }
            ControlKind::Refuse => {
                if let Some(refusal) =
                    HelloRefusal::read(body).filter(|refusal| refusal.nonce == nonce)
                {
                    self.status =
                        InitiatorStatus::Failed(if refusal.code == HelloRefusal::VERSION {
                            TransferError::Version
                        } else {
                            TransferError::Refused(AbortCode::from_number(refusal.code))
                        });
                }
            }
            _ => {}
        }
    }

    fn on_accept(&mut self, now_ns: u64, session: u32, accept: Accept) {
        let proposed = &self.hello.config;
        let is_larger = accept.window_bytes > proposed.window_bytes;
        let mut config = TransferConfig {
            session,
            window_bytes: accept.window_bytes,
            first_pn: accept.first_pn,
            ..proposed.clone()
        };
        // Size and resume offset are those of the end that knows them.
        if self.hello.is_sender {
            config.start_bytes = accept.start_bytes;
        } else {
            config.total_bytes = accept.total_bytes;
        }
        if self.is_unambiguous {
            self.rtt_ns = Some(now_ns.saturating_sub(self.sent_ns));
        }
        self.status = match config.check() {
            _ if is_larger => InitiatorStatus::Failed(TransferError::Contradiction("the window")),
            Ok(()) => InitiatorStatus::Accepted(Box::new(config)),
            Err(error) => InitiatorStatus::Failed(error),
        };
    }

    /// The next datagram for the responder; its length. `out` has room for 1200 bytes.
    pub fn poll_transmit(&mut self, now_ns: u64, out: &mut [u8]) -> Option<usize> {
        if self.status != InitiatorStatus::Waiting || !self.is_due {
            return None;
        }
        let hello = &self.hello;
        write_control(&mut self.datagram, ControlKind::Hello, 0, |body| {
            hello.write(body);
        });
        let bytes = self.datagram.len();
        out.get_mut(..bytes)?.copy_from_slice(&self.datagram);
        self.is_unambiguous = self.wait_ns == FIRST_WAIT_NS;
        self.is_due = false;
        self.sent_ns = now_ns;
        Some(bytes)
    }

    /// When [`Self::handle_timeout`] is due, ns; `None` once there is an answer.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let give_up = self.began_ns.saturating_add(GIVE_UP_NS);
        (self.status == InitiatorStatus::Waiting)
            .then(|| self.sent_ns.saturating_add(self.wait_ns).min(give_up))
    }

    /// Acts on the timers that have expired.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if self.status != InitiatorStatus::Waiting {
            return;
        }
        if now_ns >= self.began_ns.saturating_add(GIVE_UP_NS) {
            self.status = InitiatorStatus::Failed(TransferError::TimedOut);
        } else if now_ns >= self.sent_ns.saturating_add(self.wait_ns) {
            self.wait_ns = (self.wait_ns * 2).min(MAX_WAIT_NS);
            self.is_due = true;
        }
    }

    /// The state.
    #[must_use]
    pub const fn status(&self) -> &InitiatorStatus {
        &self.status
    }

    /// The round-trip time of the handshake, ns; `None` when a repeated HELLO makes it ambiguous.
    #[must_use]
    pub const fn rtt_ns(&self) -> Option<u64> {
        self.rtt_ns
    }
}
