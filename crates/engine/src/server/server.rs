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
use std::fmt::Write as _;
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
    locals: Vec<SocketAddr>,
    without_v6: Option<io::Error>,
    /// One for each address.
    acceptors: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the port is not available, or the kernel gives no thread.
    pub fn start(options: ServerOptions, events: SessionEventSender) -> Result<Self, RunError> {
        let addresses = options.listening_addresses();
        let device = options.device.clone();
        let mut port = options.port;
        let mut all: Vec<ListeningSockets> = Vec::with_capacity(addresses.len());
        for address in addresses {
            let address = address.map(|address| address.with_port(port));
            let mut wanted = match address {
                Some(address) => format!("listening on {address}"),
                None => format!("listening on port {port}"),
            };
            if let Some(device) = &device {
                let _ = write!(wanted, " of {device}");
            }
            let listening = listen_tcp_and_udp(address, port, device.as_deref())
                .map_err(|cause| RunError::local(wanted, cause))?;
            // A port that the kernel chose is that of all.
            port = listening.local.port();
            all.push(listening);
        }
        let state = ServerState::new(options, events)
            .map_err(|cause| RunError::local("opening a pipe", cause))?;
        let state = Arc::new(state);
        let (mut locals, mut without_v6, mut acceptors) = (Vec::new(), None, Vec::new());
        for listening in all {
            locals.push(listening.local);
            without_v6 = without_v6.or(listening.without_v6);
            let (tcp, udp) = (listening.tcp, listening.udp);
            let acceptor = Acceptor::new(Arc::clone(&state), tcp, udp, port);
            let started = thread::Builder::new()
                .name("acceptor".to_owned())
                .spawn(move || acceptor.run());
            match started {
                Ok(acceptor) => acceptors.push(acceptor),
                Err(cause) => {
                    state.stop.request();
                    return Err(RunError::local("starting a thread", cause));
                }
            }
        }
        Ok(Self {
            state,
            locals,
            without_v6,
            acceptors,
        })
    }

    /// The address and port it listens on, of several the first.
    #[must_use]
    pub fn local(&self) -> SocketAddr {
        let none = SocketAddr::from(([0, 0, 0, 0], 0));
        self.locals.first().copied().unwrap_or(none)
    }

    /// All addresses it listens on.
    #[must_use]
    pub fn locals(&self) -> &[SocketAddr] {
        &self.locals
    }

    /// The reason why it listens on IPv4 only, where it was to listen on all addresses.
    #[must_use]
    pub const fn without_v6(&self) -> Option<&io::Error> {
        self.without_v6.as_ref()
    }

    /// `true` when it has ended by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.acceptors.iter().all(JoinHandle::is_finished)
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
        for acceptor in self.acceptors.drain(..) {
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
