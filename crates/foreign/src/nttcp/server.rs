//! A server of nttcp.

use super::listener::listen_on_any;
use super::server_session;
use super::server_state::{NttcpOptions, NttcpState};
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{Admission, NotAdmitted, Release};
use caudal_engine::server::SessionEventSender;
use caudal_flow::socket::{Accepted, ReservedListener, canonical};
use caudal_flow::{RunError, join_finished, join_within};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The stack of a session's thread, bytes.
const SESSION_STACK_BYTES: usize = 256 << 10;
/// The time the sessions of a server that is stopped may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// The interval at which the acceptor looks whether the server is being stopped.
const ACCEPT_WAIT: Duration = Duration::from_millis(500);

/// A running server of nttcp; stopped when dropped.
pub struct NttcpServer {
    state: Arc<NttcpState>,
    acceptor: Option<JoinHandle<()>>,
}

impl NttcpServer {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the port is not available, or the kernel gives no thread.
    pub fn start(
        options: NttcpOptions,
        admission: Admission,
        events: SessionEventSender,
    ) -> Result<Self, RunError> {
        let wanted = format!("listening on TCP port {}", options.port);
        let listener = listen_on_any(options.bind, options.port)
            .map_err(|cause| RunError::local(wanted, cause))?;
        let port = listener
            .local_addr()
            .map_or(options.port, |local| local.port());
        let state = NttcpState::new(options, port, admission, events)
            .map_err(|cause| RunError::local("opening a pipe", cause))?;
        let state = Arc::new(state);
        let acceptor = NttcpAcceptor {
            state: Arc::clone(&state),
            sessions: Vec::new(),
        };
        let acceptor = thread::Builder::new()
            .name("nttcp".to_owned())
            .spawn(move || acceptor.run(ReservedListener::new(listener)))
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            state,
            acceptor: Some(acceptor),
        })
    }

    /// The control port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.state.port
    }

    /// Ends running tests, and waits until their sessions are over.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.state.stop.request();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Drop for NttcpServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// The thread that accepts control connections.
struct NttcpAcceptor {
    state: Arc<NttcpState>,
    sessions: Vec<JoinHandle<()>>,
}

impl NttcpAcceptor {
    fn run(mut self, mut listener: ReservedListener) {
        while !self.state.stop.is_requested() {
            if poll_readable(&[listener.as_fd(), self.state.stop.fd()], Some(ACCEPT_WAIT)).is_err()
            {
                sleep_until(monotonic_ns() + 10_000_000);
            }
            self.accept(&mut listener);
            join_finished(&mut self.sessions);
        }
        join_within(self.sessions, STOP_TIMEOUT);
    }

    /// Accepts the connections that are waiting.
    fn accept(&mut self, listener: &mut ReservedListener) {
        loop {
            let (peer, begun) = match listener.accept() {
                Ok(Accepted::Stream(stream, peer)) => {
                    let peer = canonical(peer);
                    (peer, self.begin_session(stream, peer))
                }
                Ok(Accepted::Closed(peer)) => {
                    let refusal = ClientRefusal::host("no descriptor is left for it");
                    (canonical(peer), Err(refusal))
                }
                Ok(Accepted::Nothing) => return,
                Err(_) => return sleep_until(monotonic_ns() + 5_000_000),
            };
            if let Err(refusal) = begun {
                self.state.send_refused(peer, refusal);
            }
            if self.state.stop.is_requested() {
                return;
            }
        }
    }

    fn begin_session(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), ClientRefusal> {
        self.state.admission.check_address(peer.ip())?;
        // A client that has not sent its line occupies no slot, and cannot keep others out of one.
        let pending = self
            .state
            .pending
            .take_any(peer.ip(), || Release::of_connection(&stream))
            .map_err(NotAdmitted::from)?;
        let state = Arc::clone(&self.state);
        let session = thread::Builder::new()
            .name("nttcp session".to_owned())
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || server_session::serve(&state, stream, peer, pending));
        match session {
            Ok(session) => {
                self.sessions.push(session);
                Ok(())
            }
            Err(cause) => Err(ClientRefusal::host(format_args!(
                "no thread for it: {cause}"
            ))),
        }
    }
}
