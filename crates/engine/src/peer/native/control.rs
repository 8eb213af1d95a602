//! The control connection of a native test: whole messages in both directions, every wait with a deadline.

use caudal_flow::socket::is_retryable;
use caudal_flow::{RunError, read_some};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_wire::authentication::MessageAuthenticator;
use caudal_wire::frame::{self, Decoder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The silence after which a peer counts as lost.
pub(crate) const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time each step of setting a test up may take.
pub(super) const STEP_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of heartbeats while there is nothing else to send.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// The time a message may take to be handed to the kernel.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// One end of a control connection.
#[derive(Debug)]
pub(crate) struct ControlChannel {
    stream: TcpStream,
    decoder: Decoder,
    /// The authentication of what this end sends; `None` before the connection is authenticated.
    authenticator: Option<MessageAuthenticator>,
    peer: SocketAddr,
    last_received_ns: u64,
    last_sent_ns: u64,
    /// The silence after which the peer counts as lost.
    silence_timeout: Duration,
}

impl ControlChannel {
    /// A channel over a connected stream whose preambles have been exchanged; messages of more than `max` bytes are refused.
    ///
    /// # Errors
    /// When the kernel refuses the socket options.
    pub(crate) fn new(stream: TcpStream, peer: SocketAddr, max: usize) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SEND_TIMEOUT))?;
        stream.set_nonblocking(false)?;
        let now = monotonic_ns();
        Ok(Self {
            stream,
            decoder: Decoder::with_limit(max),
            authenticator: None,
            peer,
            last_received_ns: now,
            last_sent_ns: now,
            silence_timeout: SILENCE_TIMEOUT,
        })
    }

    /// The address of the other end.
    pub(crate) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The time at which something was received last, ns of the monotonic clock.
    pub(crate) const fn last_received_ns(&self) -> u64 {
        self.last_received_ns
    }

    /// Lets the peer be silent for so long beyond [`SILENCE_TIMEOUT`].
    pub(crate) fn set_patience(&mut self, patience: Duration) {
        self.silence_timeout = SILENCE_TIMEOUT.saturating_add(patience);
    }

    /// Takes note that payload of the peer has arrived at `now_ns`: its messages may be behind that in a queue.
    pub(crate) fn payload_arrived(&mut self, now_ns: u64) {
        self.last_received_ns = self.last_received_ns.max(now_ns);
    }

    /// The socket of this end.
    pub(crate) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the peer is lost or has not read for ten seconds.
    pub(crate) fn send<M: Serialize>(&mut self, message: &M) -> Result<(), RunError> {
        let bytes = match &mut self.authenticator {
            Some(authenticator) => frame::encode_authenticated(message, authenticator)?,
            None => frame::encode(message)?,
        };
        self.write(&bytes)
    }

    /// Sends a message that precedes authentication: its JSON text, by which the key of the connection is derived.
    ///
    /// # Errors
    /// Those of [`Self::send`].
    pub(crate) fn send_opening<M: Serialize>(&mut self, message: &M) -> Result<Vec<u8>, RunError> {
        let bytes = frame::encode(message)?;
        self.write(&bytes)?;
        Ok(bytes
            .get(frame::LENGTH_BYTES..)
            .unwrap_or_default()
            .to_vec())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.stream
            .write_all(bytes)
            .map_err(|cause| RunError::Lost {
                doing: "sending a control message",
                cause,
            })?;
        self.last_sent_ns = monotonic_ns();
        Ok(())
    }

    /// The JSON text of the message that was received last.
    pub(crate) fn latest_json(&self) -> &[u8] {
        self.decoder.latest_json()
    }

    /// Authenticates every message from here on, in both directions.
    pub(crate) fn authenticate(
        &mut self,
        sending: MessageAuthenticator,
        receiving: MessageAuthenticator,
    ) {
        self.authenticator = Some(sending);
        self.decoder.authenticate(receiving);
    }

    /// The next message; `None` when none came before `until_ns` of the monotonic clock, or one of `others` became readable.
    ///
    /// # Errors
    /// When the peer closed the connection, sent nothing for [`SILENCE_TIMEOUT`] and its patience, or violated the protocol.
    pub(crate) fn recv<M: DeserializeOwned>(
        &mut self,
        until_ns: u64,
        others: &[BorrowedFd<'_>],
    ) -> Result<Option<M>, RunError> {
        loop {
            if let Some(message) = self.decoder.next_message()? {
                return Ok(Some(message));
            }
            let silent_ns = self.last_received_ns + self.silence_timeout.as_nanos() as u64;
            let ready = self.poll(until_ns.min(silent_ns), others)?;
            if ready.first() == Some(&true) && self.read()? {
                continue;
            }
            if ready.iter().skip(1).any(|ready| *ready) {
                return Ok(None);
            }
            let now = monotonic_ns();
            if now >= silent_ns {
                return Err(RunError::Silent {
                    waiting_for: "a message from the peer",
                    seconds: self.silence_timeout.as_secs(),
                });
            }
            if now >= until_ns {
                return Ok(None);
            }
        }
    }

    /// Waits until `until_ns` for this socket, which comes first, or one of `others`: which are readable.
    fn poll(&self, until_ns: u64, others: &[BorrowedFd<'_>]) -> Result<Vec<bool>, RunError> {
        let mut all = Vec::with_capacity(1 + others.len());
        all.push(self.stream.as_fd());
        all.extend_from_slice(others);
        loop {
            let wait = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            match poll_readable(&all, Some(wait)) {
                Ok(ready) => return Ok(ready),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => {
                    return Err(RunError::Lost {
                        doing: "waiting",
                        cause,
                    });
                }
            }
        }
    }

    /// Reads what has arrived; `false` when nothing has after all.
    fn read(&mut self) -> Result<bool, RunError> {
        let lost = |cause| RunError::Lost {
            doing: "waiting for it",
            cause,
        };
        let mut chunk = [0; 16 << 10];
        match read_some(&self.stream, &mut chunk, usize::MAX) {
            Ok([]) => Err(lost(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "it closed the control connection",
            ))),
            Ok(bytes) => {
                self.last_received_ns = monotonic_ns();
                self.decoder.feed(bytes);
                Ok(true)
            }
            Err(cause) if is_retryable(&cause) => Ok(false),
            Err(cause) => Err(lost(cause)),
        }
    }

    /// `true` when a heartbeat is due.
    pub(crate) fn is_heartbeat_due(&self) -> bool {
        monotonic_ns().saturating_sub(self.last_sent_ns) >= HEARTBEAT_INTERVAL.as_nanos() as u64
    }

    /// The time at which the next heartbeat is due, ns of the monotonic clock.
    pub(crate) fn heartbeat_due_ns(&self) -> u64 {
        self.last_sent_ns + HEARTBEAT_INTERVAL.as_nanos() as u64
    }
}
