//! Accepting the TCP connections of clients: a thread for each.

use caudal_engine::ClientRefusal;
use caudal_engine::admission::{Admission, NotAdmitted, Place, Places, Release};
use caudal_flow::socket::{Accepted, ReservedListener, canonical};
use caudal_flow::{StopSignal, join_finished, join_within};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::poll::poll_readable;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The stack of a session's thread, bytes.
pub(crate) const SESSION_STACK_BYTES: usize = 256 << 10;
/// The time the sessions of a server that is stopped may take to end.
pub(crate) const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// The interval at which acceptors look whether the server is being stopped.
const ACCEPT_WAIT: Duration = Duration::from_millis(500);

/// A server whose clients connect over TCP.
pub(crate) trait StreamServer: Send + Sync + 'static {
    /// The name of the threads of its sessions.
    const SESSION_NAME: &'static str;

    /// The signal that stops it.
    fn stop(&self) -> &StopSignal;

    /// Who may run at once.
    fn admission(&self) -> &Admission;

    /// Connections that have not asked for a test: they occupy no slot, and cannot keep others out of one.
    fn pending(&self) -> &Arc<Places>;

    /// `true` when it serves one client after another.
    fn is_serial(&self) -> bool {
        false
    }

    /// Serves a client, whose place among the pending connections is given back once it has asked for a test.
    fn serve(&self, stream: TcpStream, peer: SocketAddr, pending: Place);

    /// Reports a client that was refused.
    fn report_refused(&self, peer: SocketAddr, refusal: ClientRefusal);
}

/// The thread that accepts TCP connections.
pub(crate) struct StreamAcceptor<S> {
    server: Arc<S>,
    listener: ReservedListener,
    sessions: Vec<JoinHandle<()>>,
}

impl<S: StreamServer> StreamAcceptor<S> {
    pub(crate) fn new(server: Arc<S>, listener: TcpListener) -> Self {
        Self {
            server,
            listener: ReservedListener::new(listener),
            sessions: Vec::new(),
        }
    }

    /// Accepts connections until the server is stopped.
    pub(crate) fn run(mut self) {
        while !self.server.stop().is_requested() {
            join_finished(&mut self.sessions);
            if self.server.is_serial() && !self.sessions.is_empty() {
                sleep_until(monotonic_ns() + 5_000_000);
            } else if wait_readable(self.listener.as_fd(), self.server.stop()) {
                self.accept();
            }
        }
        join_within(self.sessions, STOP_TIMEOUT);
    }

    fn accept(&mut self) {
        match self.listener.accept() {
            Ok(Accepted::Stream(stream, peer)) => {
                let peer = canonical(peer);
                if let Err(refusal) = self.begin_session(stream, peer) {
                    self.server.report_refused(peer, refusal);
                }
            }
            Ok(Accepted::Closed(peer)) => {
                let refusal = ClientRefusal::host("no descriptor is left for it");
                self.server.report_refused(canonical(peer), refusal);
            }
            Ok(Accepted::Nothing) => {}
            Err(_) => sleep_until(monotonic_ns() + 5_000_000),
        }
    }

    fn begin_session(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), ClientRefusal> {
        self.server.admission().check_address(peer.ip())?;
        self.server.admission().check_memory()?;
        let pending = self.server.pending();
        let pending = pending
            .take_any(peer.ip(), || Release::of_connection(&stream))
            .map_err(NotAdmitted::from)?;
        let server = Arc::clone(&self.server);
        let session = thread::Builder::new()
            .name(S::SESSION_NAME.to_owned())
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || server.serve(stream, peer, pending))
            .map_err(|cause| ClientRefusal::host(format_args!("no thread for it: {cause}")))?;
        self.sessions.push(session);
        Ok(())
    }
}

/// Waits until a listening socket is readable, or for a while: `true` when it is.
pub(crate) fn wait_readable(listener: BorrowedFd<'_>, stop: &StopSignal) -> bool {
    match poll_readable(&[listener, stop.fd()], Some(ACCEPT_WAIT)) {
        Ok(ready) => ready.first() == Some(&true),
        Err(_) => {
            sleep_until(monotonic_ns() + 10_000_000);
            false
        }
    }
}
