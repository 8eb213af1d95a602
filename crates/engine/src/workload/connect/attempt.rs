//! One attempt: a connection, with TLS where asked for, a request and its answer where the server is of caudal.

use caudal_analysis::connect::ConnectAttempt;
use caudal_core::connect::ConnectFailure;
use caudal_core::plan::Transport;
use caudal_core::text::ExternalText;
use caudal_flow::socket::{SocketSettings, is_retryable, unconnected_tcp};
use caudal_flow::{FlowSignals, LocalBinding};
use caudal_sys::clock::monotonic_ns;
use caudal_transfer::TlsClient;
use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer, Purpose, TestToken};
use socket2::Socket;
use std::cell::Cell;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Maximum wait before a thread looks whether it is stopped.
const WAIT_SLICE: Duration = Duration::from_millis(100);
/// Bytes in a request over TLS.
pub(super) const TLS_REQUEST_BYTES: usize = 8;

/// The settings of all attempts.
#[derive(Debug, Clone)]
pub(super) struct AttemptSettings {
    pub(super) peer: SocketAddr,
    pub(super) binding: LocalBinding,
    pub(super) dscp: Option<u8>,
    /// The time allowed for each step.
    pub(super) timeout: Duration,
    pub(super) tls: Option<TlsClient>,
    /// The test at a server of caudal, which answers a request; `None` at any other server.
    pub(super) token: Option<TestToken>,
}

/// Why an attempt has no result that counts.
enum AttemptEnd {
    /// It was to end before it had one.
    Stopped,
    /// It failed, with the text of an error that is none of the usual ones.
    Failed(ConnectFailure, Option<String>),
}

/// Attempts with these settings, until they are stopped.
pub(super) struct Attempts<'a> {
    pub(super) settings: &'a AttemptSettings,
    pub(super) signals: &'a FlowSignals,
    /// The start of the test, ns of the monotonic clock.
    pub(super) start_ns: u64,
    /// The text of the last failure that has one.
    pub(super) last_failure: Option<ExternalText>,
}

impl Attempts<'_> {
    /// Makes an attempt that was due at `due_ns` of the monotonic clock; `None` when it was stopped.
    pub(super) fn make(&mut self, due_ns: u64) -> Option<ConnectAttempt> {
        let began_ns = monotonic_ns();
        let mut attempt = ConnectAttempt {
            start_ns: began_ns.saturating_sub(self.start_ns),
            late_ns: began_ns.saturating_sub(due_ns),
            ..ConnectAttempt::default()
        };
        match self.carry_out(began_ns, &mut attempt) {
            Ok(()) => {}
            Err(AttemptEnd::Stopped) => return None,
            Err(AttemptEnd::Failed(failure, text)) => {
                attempt.failure = Some(failure);
                if let Some(text) = text {
                    self.last_failure = Some(text.into());
                }
            }
        }
        attempt.end_ns = monotonic_ns().saturating_sub(self.start_ns);
        Some(attempt)
    }

    fn carry_out(&self, began_ns: u64, attempt: &mut ConnectAttempt) -> Result<(), AttemptEnd> {
        let settings = self.settings;
        let socket = self.open()?;
        let until_ns = |from_ns: u64| from_ns.saturating_add(settings.timeout.as_nanos() as u64);
        self.connect(&socket, until_ns(began_ns))?;
        let connected_ns = monotonic_ns();
        attempt.connect_ns = Some(connected_ns - began_ns);
        let stream = TcpStream::from(socket);
        let waiting = WaitingSocket {
            stream: &stream,
            signals: self.signals,
            until_ns: Cell::new(until_ns(connected_ns)),
        };
        match (&settings.tls, settings.token) {
            (None, None) => Ok(()),
            (None, Some(token)) => {
                (&waiting).write_all(&Purpose::Probe { token }.encode())?;
                let mut answer = [0; ANSWER_BYTES];
                (&waiting).read_exact(&mut answer)?;
                attempt.first_byte_ns = Some(monotonic_ns() - connected_ns);
                // Behind the server's end of the connection TIME_WAIT is kept there, and the port here is free at once.
                let _ = (&waiting).read(&mut [0; ANSWER_BYTES]);
                check_answer(&answer)
            }
            (Some(tls), token) => {
                // What follows the preamble leaves at once.
                stream.set_nodelay(true)?;
                if let Some(token) = token {
                    (&waiting).write_all(&Purpose::Probe { token }.encode())?;
                }
                let mut connection = tls.shake_hands(&waiting)?;
                let agreed_ns = monotonic_ns();
                attempt.handshake_ns = Some(agreed_ns - connected_ns);
                if token.is_some() {
                    waiting.until_ns.set(until_ns(agreed_ns));
                    let mut answer = [0; ANSWER_BYTES];
                    connection.send(&[0; TLS_REQUEST_BYTES])?;
                    connection.receive(&mut answer)?;
                    attempt.first_byte_ns = Some(monotonic_ns() - agreed_ns);
                    // The server closes, as without TLS.
                    let _ = (&waiting).read(&mut [0; ANSWER_BYTES]);
                    return check_answer(&answer);
                }
                connection.close();
                Ok(())
            }
        }
    }

    fn open(&self) -> Result<Socket, AttemptEnd> {
        let settings = SocketSettings {
            dscp: self.settings.dscp,
            ..SocketSettings::new(Transport::Tcp)
        };
        let (peer, binding) = (self.settings.peer, &self.settings.binding);
        let socket = unconnected_tcp(peer, binding, &settings).map_err(|error| {
            let failure = match error.os_error() {
                Some(libc::EADDRNOTAVAIL | libc::EADDRINUSE) => ConnectFailure::NoLocalPort,
                _ => ConnectFailure::Local,
            };
            AttemptEnd::Failed(failure, Some(error.to_string()))
        })?;
        let slice = WAIT_SLICE.min(self.settings.timeout);
        socket
            .set_write_timeout(Some(slice))
            .and_then(|()| socket.set_read_timeout(Some(slice)))?;
        Ok(socket)
    }

    /// Connects a blocking socket, which waits in slices: another call goes on with the same handshake.
    fn connect(&self, socket: &Socket, until_ns: u64) -> Result<(), AttemptEnd> {
        let peer = self.settings.peer.into();
        loop {
            let cause = match socket.connect(&peer) {
                Ok(()) => return Ok(()),
                Err(cause) => cause,
            };
            match cause.raw_os_error() {
                Some(libc::EISCONN) => return Ok(()),
                Some(libc::EINPROGRESS | libc::EALREADY | libc::EINTR | libc::EAGAIN) => {}
                _ => return Err(cause.into()),
            }
            if self.signals.is_stopped() {
                return Err(AttemptEnd::Stopped);
            }
            if monotonic_ns() >= until_ns {
                return Err(AttemptEnd::Failed(ConnectFailure::TimedOut, None));
            }
        }
    }
}

impl From<io::Error> for AttemptEnd {
    /// The error of a step as the reason why the connection was not completed.
    fn from(cause: io::Error) -> Self {
        let failure = match (cause.raw_os_error(), cause.kind()) {
            (None, io::ErrorKind::Interrupted) => return Self::Stopped,
            (Some(libc::ECONNREFUSED), _) => ConnectFailure::Refused,
            (Some(libc::ETIMEDOUT), _) | (None, io::ErrorKind::TimedOut) => {
                ConnectFailure::TimedOut
            }
            (Some(libc::ECONNRESET | libc::EPIPE), _) => ConnectFailure::Reset,
            (
                Some(
                    libc::EHOSTUNREACH
                    | libc::ENETUNREACH
                    | libc::EACCES
                    | libc::EPERM
                    | libc::EHOSTDOWN,
                ),
                _,
            ) => ConnectFailure::Unreachable,
            (Some(libc::EADDRNOTAVAIL), _) => ConnectFailure::NoLocalPort,
            (Some(_), _) => ConnectFailure::Local,
            (None, io::ErrorKind::UnexpectedEof) => ConnectFailure::NoAnswer,
            (None, _) => ConnectFailure::Tls,
        };
        let has_text = matches!(failure, ConnectFailure::Local | ConnectFailure::Tls);
        Self::Failed(failure, has_text.then(|| cause.to_string()))
    }
}

/// Checks that the server has found the test.
fn check_answer(answer: &[u8; ANSWER_BYTES]) -> Result<(), AttemptEnd> {
    match PreambleAnswer::decode(answer) {
        Ok(PreambleAnswer::Attached) => Ok(()),
        _ => Err(AttemptEnd::Failed(ConnectFailure::NoAnswer, None)),
    }
}

/// A connected socket whose calls wait in slices: until their step has had its time ([`io::ErrorKind::TimedOut`]), or the attempt is
/// stopped ([`io::ErrorKind::Interrupted`]).
struct WaitingSocket<'a> {
    stream: &'a TcpStream,
    signals: &'a FlowSignals,
    /// The end of the step, ns of the monotonic clock.
    until_ns: Cell<u64>,
}

impl WaitingSocket<'_> {
    fn wait<T>(&self, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match call() {
                Err(cause) if is_retryable(&cause) => {}
                done => return done,
            }
            if self.signals.is_stopped() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if monotonic_ns() >= self.until_ns.get() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }
}

impl Read for &WaitingSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        self.wait(|| stream.read(buffer))
    }
}

impl Write for &WaitingSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        self.wait(|| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
