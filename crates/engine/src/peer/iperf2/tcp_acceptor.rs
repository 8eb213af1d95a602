//! Accepting the TCP connections of clients.

use super::server_state::{Iperf2State, SESSION_STACK_BYTES, STOP_TIMEOUT};
use super::tcp_session;
use crate::socket::canonical;
use crate::stop::{join_finished, join_within};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};

/// The maximum number of connections that have not sent their header.
const MAX_PENDING: usize = 512;

/// The thread that accepts TCP connections.
pub(super) struct TcpAcceptor {
    state: Arc<Iperf2State>,
    listener: TcpListener,
    sessions: Vec<JoinHandle<()>>,
}

impl TcpAcceptor {
    pub(super) const fn new(state: Arc<Iperf2State>, listener: TcpListener) -> Self {
        Self {
            state,
            listener,
            sessions: Vec::new(),
        }
    }

    /// Accepts connections until the server is stopped.
    pub(super) fn run(mut self) {
        let _ = self.listener.set_nonblocking(true);
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
            Ok((stream, peer)) => {
                let peer = canonical(peer);
                if let Err(reason) = self.begin_session(stream, peer) {
                    self.state.send_refused(peer, reason);
                }
            }
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => sleep_until(monotonic_ns() + 5_000_000),
        }
    }

    fn begin_session(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), String> {
        self.state.admission.check_address(peer.ip())?;
        // A client that has not sent its header occupies no slot, and cannot keep others out of one.
        if self.state.pending.load(Relaxed) >= MAX_PENDING {
            return Err("too many connections have sent no header".to_owned());
        }
        self.state.pending.fetch_add(1, Relaxed);
        let state = Arc::clone(&self.state);
        let session = thread::Builder::new()
            .name("iperf2 session".to_owned())
            .stack_size(SESSION_STACK_BYTES)
            .spawn(move || {
                if let Err(reason) = tcp_session::serve(&state, stream, peer) {
                    state.send_refused(peer, reason);
                }
            });
        match session {
            Ok(session) => {
                self.sessions.push(session);
                Ok(())
            }
            Err(cause) => {
                self.state.pending.fetch_sub(1, Relaxed);
                Err(format!("no thread for it: {cause}"))
            }
        }
    }
}
