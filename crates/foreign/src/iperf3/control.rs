//! The control connection of an iperf3 test: single bytes and framed JSON, each with a deadline.

use caudal_flow::socket::is_retryable;
use caudal_flow::{RunError, read_some};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_sys::tcp;
use caudal_wire::iperf3::{ControlState, Iperf3ErrorCode, frame};
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The time the other end may take to accept what is written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time the other end may take to close after the last message, ns.
const CLOSE_NS: u64 = 1_000_000_000;
/// Maximum number of bytes read at once.
const CHUNK: usize = 16 << 10;

/// The input received on a control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControlInput {
    /// A state.
    State(ControlState),
    /// A byte that is no state.
    Unknown(u8),
    /// The other end has closed.
    Closed,
    /// Nothing: the time was over, or another descriptor became readable.
    Nothing,
}

/// The control connection of a test: single bytes and framed JSON.
pub(super) struct Iperf3Control {
    stream: TcpStream,
    peer: SocketAddr,
    held: Vec<u8>,
    read: usize,
}

impl Iperf3Control {
    /// The control connection over a connection on which the cookie was sent.
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let socket = socket2::SockRef::from(&stream);
        // Keeps the state of address translators alive: losing it would cost the results.
        let _ = socket.set_tcp_keepalive(
            &socket2::TcpKeepalive::new()
                .with_time(Duration::from_secs(15))
                .with_interval(Duration::from_secs(10))
                .with_retries(6),
        );
        let _ = socket.set_tcp_user_timeout(Some(Duration::from_secs(75)));
        Ok(Self {
            stream,
            peer,
            held: Vec::new(),
            read: 0,
        })
    }

    /// The address of the other end.
    pub(super) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The connection.
    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends states.
    pub(super) fn send(&mut self, states: &[ControlState]) -> Result<(), RunError> {
        let bytes: Vec<u8> = states.iter().map(|state| state.byte()).collect();
        self.write(&bytes)
    }

    /// Sends a JSON text in a frame.
    pub(super) fn send_json(&mut self, json: &str) -> Result<(), RunError> {
        self.write(&frame(json))
    }

    /// Sends an error, after which the other end closes.
    pub(super) fn send_error(&mut self, error: Iperf3ErrorCode) {
        let mut bytes = vec![ControlState::ServerError.byte()];
        bytes.extend_from_slice(&error.encode());
        let _ = self.write(&bytes);
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.stream
            .write_all(bytes)
            .map_err(|cause| RunError::Lost {
                doing: "sending to it",
                cause,
            })
    }

    /// The next state; [`ControlInput::Nothing`] when none came before `until_ns`, or one of `others` became readable.
    pub(super) fn recv(
        &mut self,
        until_ns: u64,
        others: &[BorrowedFd<'_>],
    ) -> Result<ControlInput, RunError> {
        loop {
            if let Some(byte) = self.held.get(self.read).copied() {
                self.read += 1;
                return Ok(ControlState::from_byte(byte)
                    .map_or(ControlInput::Unknown(byte), ControlInput::State));
            }
            match self.fill(until_ns, others, 1)? {
                Filled::Some => {}
                Filled::Closed => return Ok(ControlInput::Closed),
                Filled::Nothing => return Ok(ControlInput::Nothing),
            }
        }
    }

    /// Up to `max` bytes that belong to the last state, as far as they arrive in time.
    pub(super) fn recv_bytes(&mut self, max: usize, until_ns: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < max {
            let there = self.held.get(self.read..).unwrap_or_default();
            if there.is_empty() {
                let wanted = max - bytes.len();
                if !matches!(self.fill(until_ns, &[], wanted), Ok(Filled::Some)) {
                    break;
                }
                continue;
            }
            let (taken, _) = there.split_at(there.len().min(max - bytes.len()));
            bytes.extend_from_slice(taken);
            self.read += taken.len();
        }
        bytes
    }

    /// The next JSON text, of at most `max` bytes: a longer one is refused before memory is used for it.
    pub(super) fn recv_json(
        &mut self,
        max: usize,
        until_ns: u64,
        waiting_for: &'static str,
        others: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, RunError> {
        let began = monotonic_ns();
        let silent = || RunError::Silent {
            waiting_for,
            seconds: until_ns.saturating_sub(began).div_ceil(1_000_000_000),
        };
        let mut length = None;
        loop {
            let held = self.held.get(self.read..).unwrap_or_default();
            if let (None, Some((four, _))) = (length, held.split_first_chunk::<4>()) {
                let announced = u32::from_be_bytes(*four);
                if announced == 0 || announced as usize > max {
                    return Err(RunError::Protocol(format!(
                        "{waiting_for} of {announced} bytes were announced; 1 to {max} are allowed"
                    ).into()));
                }
                length = Some(announced as usize);
                self.read += 4;
                continue;
            }
            if let Some(length) = length
                && let Some(block) = held.get(..length)
            {
                let block = block.to_vec();
                self.read += length;
                return Ok(block);
            }
            let wanted = length.unwrap_or(4).saturating_sub(held.len());
            match self.fill(until_ns, others, wanted)? {
                Filled::Some => {}
                Filled::Closed => {
                    return Err(RunError::Lost {
                        doing: "waiting for its results",
                        cause: io::ErrorKind::UnexpectedEof.into(),
                    });
                }
                Filled::Nothing => return Err(silent()),
            }
        }
    }

    /// Waits for bytes and reads at most `wanted` of them, or what fits a chunk.
    fn fill(
        &mut self,
        until_ns: u64,
        others: &[BorrowedFd<'_>],
        wanted: usize,
    ) -> Result<Filled, RunError> {
        if self.read > 0 {
            self.held.drain(..self.read);
            self.read = 0;
        }
        let lost = |cause| RunError::Lost {
            doing: "receiving from it",
            cause,
        };
        loop {
            // Versions that send one message after another without TCP_NODELAY wait for the acknowledgement of the first.
            let _ = tcp::set_quickack(&self.stream, true);
            let mut waiting = vec![self.stream.as_fd()];
            waiting.extend_from_slice(others);
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            let ready = match poll_readable(&waiting, Some(left)) {
                Ok(ready) => ready,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(lost(cause)),
            };
            if ready.first() == Some(&true) {
                let mut chunk = [0; CHUNK];
                let room = wanted.clamp(1, CHUNK);
                match read_some(&self.stream, &mut chunk, room) {
                    Ok([]) => return Ok(Filled::Closed),
                    Ok(bytes) => {
                        self.held.extend_from_slice(bytes);
                        return Ok(Filled::Some);
                    }
                    Err(cause) if is_retryable(&cause) => {
                        continue;
                    }
                    // A peer that has closed without reading everything resets the connection.
                    Err(cause) if cause.kind() == io::ErrorKind::ConnectionReset => {
                        return Ok(Filled::Closed);
                    }
                    Err(cause) => return Err(lost(cause)),
                }
            }
            if ready.iter().skip(1).any(|ready| *ready) || monotonic_ns() >= until_ns {
                return Ok(Filled::Nothing);
            }
        }
    }

    /// Closes in the order every version expects: half-close, read what the other end still sends, close.
    pub(super) fn close(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let until = monotonic_ns() + CLOSE_NS;
        loop {
            self.held.clear();
            self.read = 0;
            match self.fill(until, &[], CHUNK) {
                Ok(Filled::Some) => {}
                _ => return,
            }
        }
    }
}

/// The outcome of waiting for bytes.
enum Filled {
    Some,
    Closed,
    Nothing,
}
