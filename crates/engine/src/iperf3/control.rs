//! The control connection of an iperf3 test: single bytes and framed JSON, each with a deadline.

use crate::error::RunError;
use crate::socket::not_yet;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_wire::iperf3::{Complaint, State, frame};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// How long the other end may take to accept what is written.
const WRITING: Duration = Duration::from_secs(10);
/// How long after the last word the other end may take to close, ns.
const FAREWELL_NS: u64 = 1_000_000_000;
/// How much is kept of what has been received and not yet looked at, bytes.
const CHUNK: usize = 16 << 10;

/// What was heard on a control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// A state.
    State(State),
    /// A byte that is none.
    Unknown(u8),
    /// The other end has closed.
    Closed,
    /// Nothing yet: the time was over, or something else called.
    Nothing,
}

pub(super) struct Control {
    stream: TcpStream,
    peer: SocketAddr,
    held: Vec<u8>,
    read: usize,
}

impl Control {
    /// Takes a connection over on which the cookie has passed.
    pub(super) fn over(stream: TcpStream, peer: SocketAddr) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITING))?;
        let socket = socket2::SockRef::from(&stream);
        // A translator of addresses that forgets a silent connection would cost the results.
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

    pub(super) const fn peer(&self) -> SocketAddr {
        self.peer
    }

    pub(super) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn say(&mut self, states: &[State]) -> Result<(), RunError> {
        let bytes: Vec<u8> = states.iter().map(|state| state.byte()).collect();
        self.write(&bytes)
    }

    pub(super) fn say_json(&mut self, json: &str) -> Result<(), RunError> {
        self.write(&frame(json))
    }

    /// Says what is wrong; the other end closes then.
    pub(super) fn complain(&mut self, complaint: Complaint) {
        let mut bytes = vec![State::ServerError.byte()];
        bytes.extend_from_slice(&complaint.encode());
        let _ = self.write(&bytes);
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), RunError> {
        self.stream
            .write_all(bytes)
            .map_err(|cause| RunError::Lost {
                doing: "speaking to it",
                cause,
            })
    }

    /// The next state; comes back early when one of `wakers` is readable.
    pub(super) fn hear(
        &mut self,
        until_ns: u64,
        wakers: &[BorrowedFd<'_>],
    ) -> Result<Heard, RunError> {
        loop {
            if let Some(byte) = self.held.get(self.read).copied() {
                self.read += 1;
                return Ok(State::from_byte(byte).map_or(Heard::Unknown(byte), Heard::State));
            }
            match self.fill(until_ns, wakers, 1)? {
                Filled::Some => {}
                Filled::Closed => return Ok(Heard::Closed),
                Filled::Nothing => return Ok(Heard::Nothing),
            }
        }
    }

    /// Up to `most` bytes that belong to the last word, as far as they come in time.
    pub(super) fn hear_bytes(&mut self, most: usize, until_ns: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            let there = self.held.len() - self.read;
            if there == 0 {
                let wanted = most - bytes.len();
                if !matches!(self.fill(until_ns, &[], wanted), Ok(Filled::Some)) {
                    break;
                }
                continue;
            }
            let take = there.min(most - bytes.len());
            bytes.extend_from_slice(&self.held[self.read..self.read + take]);
            self.read += take;
        }
        bytes
    }

    /// The next JSON block, of `most` bytes at most.
    ///
    /// A claim of more is refused before anything is kept for it.
    pub(super) fn hear_json(
        &mut self,
        most: usize,
        until_ns: u64,
        waiting_for: &'static str,
        wakers: &[BorrowedFd<'_>],
    ) -> Result<Vec<u8>, RunError> {
        let began = monotonic_ns();
        let silent = || RunError::Silent {
            waiting_for,
            seconds: until_ns.saturating_sub(began).div_ceil(1_000_000_000),
        };
        let mut length = None;
        loop {
            let held = &self.held[self.read..];
            if let (None, Some((four, _))) = (length, held.split_first_chunk::<4>()) {
                let announced = u32::from_be_bytes(*four);
                if announced == 0 || announced as usize > most {
                    return Err(RunError::Protocol(format!(
                        "{waiting_for} of {announced} bytes were announced; 1 to {most} are allowed"
                    )));
                }
                length = Some(announced as usize);
                self.read += 4;
                continue;
            }
            if let Some(length) = length
                && held.len() >= length
            {
                let block = held[..length].to_vec();
                self.read += length;
                return Ok(block);
            }
            let wanted = length.unwrap_or(4).saturating_sub(held.len());
            match self.fill(until_ns, wakers, wanted)? {
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

    /// Waits for bytes and takes in at most `wanted` more than fit a chunk.
    fn fill(
        &mut self,
        until_ns: u64,
        wakers: &[BorrowedFd<'_>],
        wanted: usize,
    ) -> Result<Filled, RunError> {
        if self.read > 0 {
            self.held.drain(..self.read);
            self.read = 0;
        }
        let lost = |cause| RunError::Lost {
            doing: "listening to it",
            cause,
        };
        loop {
            let mut waiting = vec![self.stream.as_fd()];
            waiting.extend_from_slice(wakers);
            let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
            let ready = match poll_readable(&waiting, Some(left)) {
                Ok(ready) => ready,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
                Err(cause) => return Err(lost(cause)),
            };
            if ready.first() == Some(&true) {
                let mut chunk = [0; CHUNK];
                let room = wanted.clamp(1, CHUNK);
                match self.stream.read(&mut chunk[..room]) {
                    Ok(0) => return Ok(Filled::Closed),
                    Ok(count) => {
                        self.held.extend_from_slice(&chunk[..count]);
                        return Ok(Filled::Some);
                    }
                    Err(cause) if not_yet(&cause) => {
                        continue;
                    }
                    // A peer that is gone with our words unread resets the connection.
                    Err(cause) if cause.kind() == io::ErrorKind::ConnectionReset => {
                        return Ok(Filled::Closed);
                    }
                    Err(cause) => return Err(lost(cause)),
                }
            }
            if ready.iter().skip(1).any(|woken| *woken) || monotonic_ns() >= until_ns {
                return Ok(Filled::Nothing);
            }
        }
    }

    /// Takes leave in a way no version minds: half-closes, reads what is still said, closes.
    pub(super) fn leave(mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
        let until = monotonic_ns() + FAREWELL_NS;
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

enum Filled {
    Some,
    Closed,
    Nothing,
}
