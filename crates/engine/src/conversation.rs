//! A control connection: whole messages both ways, every wait bounded.

use crate::error::RunError;
use crate::socket::not_yet;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_wire::frame::{self, Decoder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The silence after which a peer counts as gone.
pub const SILENCE: Duration = Duration::from_secs(10);
/// How often an end that has nothing to say says so.
pub const HEARTBEAT: Duration = Duration::from_secs(2);
/// How long a message may take to be handed to the kernel.
const SENDING: Duration = Duration::from_secs(10);

/// One end of a control connection.
#[derive(Debug)]
pub struct Conversation {
    stream: TcpStream,
    decoder: Decoder,
    peer: SocketAddr,
    last_heard_ns: u64,
    last_said_ns: u64,
}

impl Conversation {
    /// Takes over a connected stream whose preamble has been exchanged; messages of more than `longest`
    /// bytes are refused.
    ///
    /// # Errors
    /// What the kernel says to the socket options.
    pub fn over(stream: TcpStream, peer: SocketAddr, longest: usize) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(SENDING))?;
        stream.set_nonblocking(false)?;
        let now = monotonic_ns();
        Ok(Self {
            stream,
            decoder: Decoder::with_limit(longest),
            peer,
            last_heard_ns: now,
            last_said_ns: now,
        })
    }

    /// The other end's address.
    #[must_use]
    pub const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// This end's socket.
    #[must_use]
    pub const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Says something.
    ///
    /// # Errors
    /// When the peer is gone or has not read for ten seconds.
    pub fn say<M: Serialize>(&mut self, message: &M) -> Result<(), RunError> {
        let bytes = frame::encode(message)?;
        self.stream
            .write_all(&bytes)
            .map_err(|cause| RunError::Lost {
                doing: "sending a control message",
                cause,
            })?;
        self.last_said_ns = monotonic_ns();
        Ok(())
    }

    /// The next message, or `None` when none came until `until_ns` of the monotonic clock or one of
    /// `wakers` became readable.
    ///
    /// # Errors
    /// When the peer closed the connection, was silent for [`SILENCE`], or broke the protocol.
    pub fn hear<M: DeserializeOwned>(
        &mut self,
        until_ns: u64,
        wakers: &[BorrowedFd<'_>],
    ) -> Result<Option<M>, RunError> {
        let mut chunk = [0; 16 << 10];
        loop {
            if let Some(message) = self.decoder.next_message()? {
                return Ok(Some(message));
            }
            let now = monotonic_ns();
            let silent_at = self.last_heard_ns + SILENCE.as_nanos() as u64;
            let wait = Duration::from_nanos(until_ns.min(silent_at).saturating_sub(now));
            let mut waiting = Vec::with_capacity(1 + wakers.len());
            waiting.push(self.stream.as_fd());
            waiting.extend_from_slice(wakers);
            let ready = match poll_readable(&waiting, Some(wait)) {
                Ok(ready) => ready,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => {
                    return Err(RunError::Lost {
                        doing: "waiting",
                        cause,
                    });
                }
            };
            if ready.first() == Some(&true) {
                match self.stream.read(&mut chunk) {
                    Ok(0) => {
                        let cause = io::Error::new(
                            io::ErrorKind::UnexpectedEof,
                            "it closed the control connection",
                        );
                        return Err(RunError::Lost {
                            doing: "waiting for it",
                            cause,
                        });
                    }
                    Ok(count) => {
                        self.last_heard_ns = monotonic_ns();
                        self.decoder.feed(&chunk[..count]);
                        continue;
                    }
                    Err(cause) if not_yet(&cause) => {}
                    Err(cause) => {
                        return Err(RunError::Lost {
                            doing: "waiting for it",
                            cause,
                        });
                    }
                }
            }
            if ready.iter().skip(1).any(|woken| *woken) {
                return Ok(None);
            }
            let now = monotonic_ns();
            if now >= silent_at {
                return Err(RunError::Silent {
                    waiting_for: "a sign of life from the peer",
                    seconds: SILENCE.as_secs(),
                });
            }
            if now >= until_ns {
                return Ok(None);
            }
        }
    }

    /// Whether it is time to show the peer that this end is alive.
    #[must_use]
    pub fn owes_heartbeat(&self) -> bool {
        monotonic_ns().saturating_sub(self.last_said_ns) >= HEARTBEAT.as_nanos() as u64
    }

    /// When the next sign of life is due, ns of the monotonic clock.
    #[must_use]
    pub fn heartbeat_due_ns(&self) -> u64 {
        self.last_said_ns + HEARTBEAT.as_nanos() as u64
    }
}
