//! Accepting the TCP connections of clients.

use super::server_state::{Iperf2State, SESSION_STACK_BYTES, STOP_TIMEOUT};
use super::tcp_session;
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{NotAdmitted, Release};
use caudal_flow::socket::{Accepted, ReservedListener, canonical};
use caudal_flow::{join_finished, join_within};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The thread that accepts TCP connections.
pub(super) struct TcpAcceptor {
    state: Arc<Iperf2State>,
    listener: ReservedListener,
    sessions: Vec<JoinHandle<()>>,
}

impl TcpAcceptor {
    pub(super) fn new(state: Arc<Iperf2State>, listener: TcpListener) -> Self {
        Self {
            state,
            listener: ReservedListener::new(listener),
            sessions: Vec::new(),
        }
    }

    /// Accepts connections until the server is stopped.
    pub(super) fn run(mut self) {
        while !self.state.is_stopping() {
            join_finished(&mut self.sessions);
            if self.state.options.is_serial && !self.sessions.is_empty() {
                sleep_until(monotonic_ns() + 5_000_000);
            } else if self.state.wait_readable(self.listener.as_fd()) {
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
                    self.state.send_refused(peer, refusal);
                }
            }
            Ok(Accepted::Closed(peer)) => {
                let refusal = ClientRefusal::host("no descriptor is left for it");
                self.state.send_refused(canonical(peer), refusal);
            }
            Ok(Accepted::Nothing) => {}
            Err(_) => sleep_until(monotonic_ns() + 5_000_000),
        }
    }

    fn begin_session(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), ClientRefusal> {
        self.state.admission.check_address(peer.ip())?;
        // A client that has not sent its header occupies no slot, and cannot keep others out of one.
        let pending = self
            .state
            .pending
            .take_any(peer.ip(), || Release::of_connection(&stream))
            .map_err(NotAdmitted::from)?;
        let state = Arc::clone(&self.state);
        let session = thread::Builder::new()
            .name("iperf2 session".to_owned())
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || {
                if let Err(refusal) = tcp_session::serve(&state, stream, peer, pending) {
                    state.send_refused(peer, refusal);
                }
            });
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
