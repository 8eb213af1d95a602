//! A server of nttcp.

use super::listener::listen_on_any;
use super::server_session;
use super::server_state::{NttcpOptions, NttcpState};
use crate::stream_acceptor::{StreamAcceptor, StreamServer};
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{Admission, Place, Places};
use caudal_engine::server::SessionEventSender;
use caudal_flow::{RunError, StopSignal};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

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
        let listener = listen_on_any(options.bind, options.port, options.device.as_deref())
            .map_err(|cause| RunError::local(wanted, cause))?;
        let port = listener
            .local_addr()
            .map_or(options.port, |local| local.port());
        let state = NttcpState::new(options, port, admission, events)
            .map_err(|cause| RunError::local("opening a pipe", cause))?;
        let state = Arc::new(state);
        let acceptor = StreamAcceptor::new(Arc::clone(&state), listener);
        let acceptor = thread::Builder::new()
            .name("nttcp".to_owned())
            .spawn(move || acceptor.run())
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

impl StreamServer for NttcpState {
    const SESSION_NAME: &'static str = "nttcp session";

    fn stop(&self) -> &StopSignal {
        &self.stop
    }

    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn pending(&self) -> &Arc<Places> {
        &self.pending
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr, pending: Place) {
        server_session::serve(self, stream, peer, pending);
    }

    fn report_refused(&self, peer: SocketAddr, refusal: ClientRefusal) {
        self.send_refused(peer, refusal);
    }
}
