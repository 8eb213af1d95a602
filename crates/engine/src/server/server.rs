//! A running server.

use super::acceptor::Acceptor;
use super::authentication::ProtocolAccess;
use super::options::ServerOptions;
use super::session_event::SessionEventSender;
use super::state::ServerState;
use crate::admission::Admission;
use caudal_flow::socket::{ListeningSockets, listen_tcp_and_udp};
use caudal_flow::{RunError, join_within};
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time the sessions of a server that is stopped may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A running server; stopped when dropped.
pub struct Server {
    state: Arc<ServerState>,
    local: SocketAddr,
    without_v6: Option<io::Error>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the port is not available, or the kernel gives no thread.
    pub fn start(options: ServerOptions, events: SessionEventSender) -> Result<Self, RunError> {
        let address = options.listening_address();
        let wanted = match address {
            Some(address) => format!("listening on {address}"),
            None => format!("listening on port {}", options.port),
        };
        let listening = listen_tcp_and_udp(address, options.port)
            .map_err(|cause| RunError::local(wanted, cause))?;
        let ListeningSockets {
            tcp,
            udp,
            local,
            without_v6,
        } = listening;
        let state = ServerState::new(options, events)
            .map_err(|cause| RunError::local("opening a pipe", cause))?;
        let state = Arc::new(state);
        let acceptor = Acceptor::new(Arc::clone(&state), tcp, udp, local.port());
        let acceptor = thread::Builder::new()
            .name("acceptor".to_owned())
            .spawn(move || acceptor.run())
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            state,
            local,
            without_v6,
            acceptor: Some(acceptor),
        })
    }

    /// The address and port it listens on.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// The reason why it listens on IPv4 only, where it was to listen on all addresses.
    #[must_use]
    pub const fn without_v6(&self) -> Option<&io::Error> {
        self.without_v6.as_ref()
    }

    /// `true` when it has ended by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.acceptor.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// The number of clients it serves now.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.state.admission.in_use()
    }

    /// The access that clients of a protocol have.
    #[must_use]
    pub fn access(&self, protocol: Protocol) -> ProtocolAccess {
        self.state.options.access(protocol)
    }

    /// The server's admission, which servers of other protocols may share.
    #[must_use]
    pub fn admission(&self) -> Admission {
        self.state.admission.clone()
    }

    /// Ends running tests, whose clients receive what was measured, and waits until all sessions are over.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.state.stop.request();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        let sessions = std::mem::take(&mut *self.state.sessions());
        join_within(sessions, STOP_TIMEOUT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
