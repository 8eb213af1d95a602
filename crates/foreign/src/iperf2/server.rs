//! A server of iperf 2: every connection is a test of its own, carried out as its first bytes ask, within the limits.

use super::listeners::{listen_tcp, listen_udp};
use super::server_options::Iperf2Options;
use super::server_state::Iperf2State;
use super::tcp_session;
use super::udp_acceptor::UdpAcceptor;
use crate::stream_acceptor::{StreamAcceptor, StreamServer};
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{Admission, Place, Places};
use caudal_engine::server::SessionEventSender;
use caudal_flow::{RunError, StopSignal};
use caudal_sys::buffers;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Maximum number of attempts to find a port that is free for both protocols.
const MAX_ATTEMPTS: u32 = 16;

/// The receive buffers of listening sockets, bytes; 0 where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiveBuffers {
    /// Of the TCP socket.
    pub tcp: u32,
    /// Of the UDP socket.
    pub udp: u32,
}

/// A running server of iperf 2; stopped when dropped.
pub struct Iperf2Server {
    state: Arc<Iperf2State>,
    port: u16,
    buffers: ReceiveBuffers,
    acceptors: Vec<JoinHandle<()>>,
}

/// The sockets on which a server listens.
struct Listeners {
    port: u16,
    tcp: Option<TcpListener>,
    udp: Option<UdpSocket>,
}

impl Listeners {
    fn open(options: &Iperf2Options) -> Result<Self, RunError> {
        let mut attempts = 0;
        loop {
            match Self::open_on(options) {
                // With port 0 the kernel chose one for TCP that UDP has taken: another will do.
                Err((_, true)) if options.port == 0 && attempts < MAX_ATTEMPTS => attempts += 1,
                Err((error, _)) => return Err(error),
                Ok(listeners) => return Ok(listeners),
            }
        }
    }

    /// Opens the sockets; an error with `true` when only that of UDP could not be opened.
    fn open_on(options: &Iperf2Options) -> Result<Self, (RunError, bool)> {
        let mut port = options.port;
        let error = |transport: &str, port: u16, cause: io::Error| {
            RunError::local(format!("listening on {transport} port {port}"), cause)
        };
        let mut tcp = None;
        if options.tcp {
            let listener =
                listen_tcp(options, port).map_err(|cause| (error("TCP", port, cause), false))?;
            port = listener.local_addr().map_or(port, |local| local.port());
            tcp = Some(listener);
        }
        let mut udp = None;
        if options.udp {
            let socket =
                listen_udp(options, port).map_err(|cause| (error("UDP", port, cause), true))?;
            port = socket.local_addr().map_or(port, |local| local.port());
            udp = Some(socket);
        }
        Ok(Self { port, tcp, udp })
    }

    fn buffers(&self) -> ReceiveBuffers {
        let tcp = self
            .tcp
            .as_ref()
            .and_then(|tcp| buffers::receive_buffer(tcp).ok());
        let udp = self
            .udp
            .as_ref()
            .and_then(|udp| buffers::receive_buffer(udp).ok());
        ReceiveBuffers {
            tcp: tcp.unwrap_or(0),
            udp: udp.unwrap_or(0),
        }
    }
}

impl Iperf2Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When a port is not available, or the kernel gives no thread.
    pub fn start(
        options: Iperf2Options,
        admission: Admission,
        events: SessionEventSender,
    ) -> Result<Self, RunError> {
        let listeners = Listeners::open(&options)?;
        let buffers = listeners.buffers();
        let state = Iperf2State::new(options, admission, events)
            .map_err(|cause| RunError::local("opening a pipe", cause))?;
        let mut server = Self {
            state: Arc::new(state),
            port: listeners.port,
            buffers,
            acceptors: Vec::new(),
        };
        if let Some(tcp) = listeners.tcp {
            let acceptor = StreamAcceptor::new(Arc::clone(&server.state), tcp);
            server.spawn("iperf2 tcp", move || acceptor.run())?;
        }
        if let Some(udp) = listeners.udp {
            let acceptor = UdpAcceptor::new(Arc::clone(&server.state), udp);
            server.spawn("iperf2 udp", move || acceptor.run())?;
        }
        Ok(server)
    }

    fn spawn(
        &mut self,
        name: &str,
        acceptor: impl FnOnce() + Send + 'static,
    ) -> Result<(), RunError> {
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .spawn(acceptor)
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        self.acceptors.push(thread);
        Ok(())
    }

    /// The port it listens on.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The receive buffers of the listening sockets.
    #[must_use]
    pub const fn receive_buffers(&self) -> ReceiveBuffers {
        self.buffers
    }

    /// Ends running tests, and waits until their sessions are over.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.state.stop.request();
        for acceptor in self.acceptors.drain(..) {
            let _ = acceptor.join();
        }
    }
}

impl Drop for Iperf2Server {
    fn drop(&mut self) {
        self.end();
    }
}

impl StreamServer for Iperf2State {
    const SESSION_NAME: &'static str = "iperf2 session";

    fn stop(&self) -> &StopSignal {
        &self.stop
    }

    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn pending(&self) -> &Arc<Places> {
        &self.pending
    }

    fn is_serial(&self) -> bool {
        self.options.is_serial
    }

    fn serve(&self, stream: TcpStream, peer: SocketAddr, pending: Place) {
        if let Err(refusal) = tcp_session::serve(self, stream, peer, pending) {
            self.send_refused(peer, refusal);
        }
    }

    fn report_refused(&self, peer: SocketAddr, refusal: ClientRefusal) {
        self.send_refused(peer, refusal);
    }
}
