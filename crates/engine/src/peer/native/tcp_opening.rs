//! Opening the TCP data connections of a test: one after another while each is quick, all at once when one is not.

use super::answer::recognise;
use super::client_channel::ClientChannel;
use super::control::{ControlChannel, STEP_TIMEOUT};
use caudal_core::opening::OpeningOutcome;
use caudal_core::plan::PlannedFlow;
use caudal_flow::socket::{CONNECT_TIMEOUT, SocketSettings, begin_connect};
use caudal_flow::{LocalBinding, RunError, read_some};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::{PollState, poll_ready};
use caudal_wire::frame::MAX_TO_SERVER_BYTES;
use caudal_wire::message::{Refusal, ToClient};
use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer, Purpose, TestToken};
use socket2::Socket;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// Minimum time after which a connection that has not got its answer no longer holds the others up, ns.
const MIN_PATIENCE_NS: u64 = 250_000_000;
/// The maximum: the server waits ten seconds for the next connection.
const MAX_PATIENCE_NS: u64 = 2_000_000_000;
/// The time the reason for a data connection that was reset or refused may take.
const REASON_TIMEOUT: Duration = Duration::from_secs(1);

/// A data connection that is being opened, or was.
pub(super) struct TcpAttempt {
    pub(super) flow: PlannedFlow,
    pub(super) source_port: Option<u16>,
    began_ns: u64,
    pub(super) connect_time: Duration,
    state: TcpState,
}

enum TcpState {
    /// The handshake is under way.
    Connecting(Socket),
    /// The server's answer is due.
    Answering(TcpStream, Vec<u8>),
    /// The server has accepted it.
    Open(TcpStream),
    /// It did not open.
    Failed(OpeningOutcome),
}

impl TcpAttempt {
    /// The connection, or why there is none.
    pub(super) fn into_connection(self) -> Result<TcpStream, OpeningOutcome> {
        match self.state {
            TcpState::Open(stream) => Ok(stream),
            TcpState::Failed(outcome) => Err(outcome),
            TcpState::Connecting(_) | TcpState::Answering(..) => Err(OpeningOutcome::NoAnswer),
        }
    }

    const fn is_pending(&self) -> bool {
        matches!(
            self.state,
            TcpState::Connecting(_) | TcpState::Answering(..)
        )
    }

    /// What is waited for; `None` when nothing is.
    fn awaited(&self) -> Option<(BorrowedFd<'_>, PollState)> {
        match &self.state {
            TcpState::Connecting(socket) => Some((socket.as_fd(), PollState::Writable)),
            TcpState::Answering(stream, _) => Some((stream.as_fd(), PollState::Readable)),
            TcpState::Open(_) | TcpState::Failed(_) => None,
        }
    }

    /// The time at which it is given up, ns.
    fn deadline_ns(&self) -> u64 {
        let patience = match self.state {
            TcpState::Connecting(_) => CONNECT_TIMEOUT,
            _ => STEP_TIMEOUT,
        };
        self.began_ns + patience.as_nanos() as u64
    }
}

/// The opening of the data connections of one test.
pub(super) struct TcpOpener<'a> {
    pub(super) control: &'a mut ClientChannel,
    pub(super) token: TestToken,
    /// Set when the server has reported that all flows are open before this end knew it of each.
    pub(super) all_open: bool,
}

impl TcpOpener<'_> {
    /// Opens a connection for each of `wanted`, in this order.
    pub(super) fn open(
        &mut self,
        wanted: &[(PlannedFlow, SocketSettings)],
        binding: &LocalBinding,
    ) -> Result<Vec<TcpAttempt>, RunError> {
        let rtt_ns = self.control.clock.min_rtt_ns().map_or(0, i64::unsigned_abs);
        let patience_ns = (rtt_ns * 4).clamp(MIN_PATIENCE_NS, MAX_PATIENCE_NS);
        let mut attempts: Vec<TcpAttempt> = Vec::with_capacity(wanted.len());
        loop {
            self.control.keep_alive()?;
            let next_ns = next_due_ns(&attempts, patience_ns);
            if let Some((flow, settings)) = wanted.get(attempts.len())
                && monotonic_ns() >= next_ns
            {
                let binding = binding.of_flow(attempts.len());
                attempts.push(self.begin(*flow, settings, &binding)?);
                continue;
            }
            let deadlines = attempts.iter().filter(|one| one.is_pending());
            let until_ns = match attempts.len() == wanted.len() {
                true => deadlines.map(TcpAttempt::deadline_ns).min(),
                false => deadlines
                    .map(TcpAttempt::deadline_ns)
                    .chain([next_ns])
                    .min(),
            };
            let Some(until_ns) = until_ns else {
                return Ok(attempts);
            };
            let ready = self.wait(&attempts, until_ns)?;
            for (attempt, is_ready) in attempts
                .iter_mut()
                .filter(|one| one.is_pending())
                .zip(ready)
            {
                self.advance(attempt, is_ready)?;
            }
        }
    }

    fn begin(
        &self,
        flow: PlannedFlow,
        settings: &SocketSettings,
        binding: &LocalBinding,
    ) -> Result<TcpAttempt, RunError> {
        let peer = self.control.channel.peer();
        let began_ns = monotonic_ns();
        let (socket, begun) = begin_connect(peer, binding, settings)?;
        let local = socket.local_addr().ok().and_then(|local| local.as_socket());
        Ok(TcpAttempt {
            flow,
            source_port: local.map(|local| local.port()),
            began_ns,
            connect_time: Duration::ZERO,
            state: match begun {
                Ok(()) => TcpState::Connecting(socket),
                Err(cause) => TcpState::Failed(outcome_of(&cause)),
            },
        })
    }

    /// Waits until `until_ns` for a connection that is pending, a message or an interrupt: which connections are ready.
    fn wait(&mut self, attempts: &[TcpAttempt], until_ns: u64) -> Result<Vec<bool>, RunError> {
        let control = &mut *self.control;
        let interrupts = control.interrupt.fds();
        let others = [control.channel.stream().as_fd()]
            .into_iter()
            .chain(interrupts);
        let fds = others
            .map(|fd| (fd, PollState::Readable))
            .collect::<Vec<_>>();
        let count = fds.len();
        let pending = attempts.iter().filter_map(TcpAttempt::awaited);
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let ready = poll_ready(fds.into_iter().chain(pending), Some(left)).map_err(|cause| {
            RunError::Lost {
                doing: "waiting",
                cause,
            }
        })?;
        if control.interrupt.is_set() {
            return Err(RunError::Interrupted);
        }
        if ready.first() == Some(&true) {
            // The server's refusal of the whole test comes over the control connection; so do heartbeats, and the report that all
            // flows are open, which overtakes an answer where packets are lost or take different routes.
            match control.channel.recv(0, &[])? {
                Some(ToClient::Alive) | None => {}
                Some(ToClient::Ready) => self.all_open = true,
                Some(other) => return Err(RunError::unexpected(other, "a data connection")),
            }
        }
        Ok(ready.get(count..).unwrap_or_default().to_vec())
    }

    /// Takes the next step of a connection that is pending.
    fn advance(&mut self, attempt: &mut TcpAttempt, is_ready: bool) -> Result<(), RunError> {
        if !is_ready {
            if monotonic_ns() >= attempt.deadline_ns() {
                attempt.state = TcpState::Failed(OpeningOutcome::NoAnswer);
            }
            return Ok(());
        }
        let state = std::mem::replace(
            &mut attempt.state,
            TcpState::Failed(OpeningOutcome::NoAnswer),
        );
        attempt.state = match state {
            TcpState::Connecting(socket) => match socket.take_error() {
                Ok(None) => {
                    attempt.connect_time = Duration::from_nanos(monotonic_ns() - attempt.began_ns);
                    self.connected(socket.into(), attempt.flow)?
                }
                Ok(Some(cause)) | Err(cause) => TcpState::Failed(outcome_of(&cause)),
            },
            TcpState::Answering(stream, received) => {
                self.answered(stream, received, attempt.flow)?
            }
            settled => settled,
        };
        Ok(())
    }

    fn connected(&self, mut stream: TcpStream, flow: PlannedFlow) -> Result<TcpState, RunError> {
        let purpose = Purpose::Data {
            token: self.token,
            flow: flow.id,
        };
        stream.set_nonblocking(false).map_err(lost)?;
        stream.write_all(&purpose.encode()).map_err(lost)?;
        Ok(TcpState::Answering(
            stream,
            Vec::with_capacity(ANSWER_BYTES),
        ))
    }

    fn answered(
        &mut self,
        stream: TcpStream,
        mut received: Vec<u8>,
        flow: PlannedFlow,
    ) -> Result<TcpState, RunError> {
        let mut chunk = [0; ANSWER_BYTES];
        let room = ANSWER_BYTES - received.len();
        match read_some(&stream, &mut chunk, room) {
            Ok([]) => return Err(self.closed(io::ErrorKind::UnexpectedEof.into())),
            Ok(bytes) => received.extend_from_slice(bytes),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(self.closed(cause)),
        }
        let Ok(answer) = <&[u8; ANSWER_BYTES]>::try_from(received.as_slice()) else {
            return Ok(TcpState::Answering(stream, received));
        };
        match PreambleAnswer::decode(answer) {
            Ok(PreambleAnswer::Attached) => Ok(TcpState::Open(stream)),
            Ok(PreambleAnswer::Refused) => Err(self.refused(stream, flow)),
            _ => Err(RunError::SeveralServers {
                peer: self.control.channel.peer(),
                what: data_connection(flow),
                found: Some(recognise(&received).into()),
            }),
        }
    }

    /// The error for a data connection that the server closed: one that ends the test gives the reason over the control connection.
    fn closed(&mut self, cause: io::Error) -> RunError {
        match self.control.expect(REASON_TIMEOUT, "a reason") {
            Ok(message @ ToClient::Refused { .. }) => {
                RunError::unexpected(message, "a data connection")
            }
            _ => lost(cause),
        }
    }

    /// The error for a data connection that was refused, with the reason: mostly because it reached another server.
    fn refused(&self, stream: TcpStream, flow: PlannedFlow) -> RunError {
        let peer = self.control.channel.peer();
        let until_ns = monotonic_ns() + REASON_TIMEOUT.as_nanos() as u64;
        let reason = ControlChannel::new(stream, peer, MAX_TO_SERVER_BYTES)
            .map_err(lost)
            .and_then(|mut channel| channel.recv(until_ns, &[]));
        let Ok(Some(ToClient::Refused {
            reason,
            message,
            instance,
        })) = reason
        else {
            return RunError::Protocol("it refused a data connection without a reason".into());
        };
        let is_other = self
            .control
            .instance
            .zip(instance)
            .map(|(ours, other)| ours != other);
        match (is_other, reason) {
            (Some(true), _) => RunError::SeveralServers {
                peer,
                what: data_connection(flow),
                found: None,
            },
            // A server of an earlier version does not say which one it is.
            (None, Refusal::Test | Refusal::Protocol) => RunError::SeveralServers {
                peer,
                what: data_connection(flow),
                found: Some(message),
            },
            _ => RunError::Refused { reason, message },
        }
    }
}

/// The time at which the next connection is begun, ns: when all before it have opened or failed, or one of them takes long.
fn next_due_ns(attempts: &[TcpAttempt], patience_ns: u64) -> u64 {
    let pending = attempts.iter().filter(|one| one.is_pending());
    let oldest_ns = pending.map(|one| one.began_ns).min();
    oldest_ns.map_or(0, |began_ns| began_ns + patience_ns)
}

/// The outcome that an error of connecting means.
fn outcome_of(cause: &io::Error) -> OpeningOutcome {
    match cause.kind() {
        io::ErrorKind::TimedOut => OpeningOutcome::NoAnswer,
        _ => OpeningOutcome::Refused,
    }
}

/// A data connection as messages name it, from 1.
fn data_connection(flow: PlannedFlow) -> String {
    format!("data connection {}", flow.id + 1)
}

fn lost(cause: io::Error) -> RunError {
    RunError::Lost {
        doing: "opening a data connection",
        cause,
    }
}
