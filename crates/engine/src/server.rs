//! The far side: many clients at once on one port, each isolated from the others.

use crate::allow::Network;
use crate::bell::Ringer;
use crate::error::RunError;
use crate::guests::Guests;
use crate::iperf3::{Desk, Iperf3Event, Iperf3Options};
use crate::reception;
use crate::socket;
use crate::stop::{Stop, see_out};
use caudal_core::plan::Plan;
use caudal_wire::preamble::Token;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The port a server listens on unless told otherwise.
pub const PORT: u16 = 5201;

/// How a server is to behave.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address to listen on; `None` for all, IPv4 and IPv6.
    pub bind: Option<IpAddr>,
    /// The port; 0 lets the kernel choose.
    pub port: u16,
    /// Whether to end after one client's visit.
    pub one_off: bool,
    /// Clients at once.
    pub max_clients: usize,
    /// The most one test may send in one direction, bit/s.
    pub max_rate: Option<u64>,
    /// The longest one test may take.
    pub max_time: Option<Duration>,
    /// The networks that are answered; empty for all.
    pub allow: Vec<Network>,
    /// How long a client may do nothing.
    pub idle_timeout: Duration,
    /// The program's name and version, as told to clients.
    pub tool: String,
    /// How clients of iperf3 are treated.
    pub iperf3: Iperf3Options,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            bind: None,
            port: PORT,
            one_off: false,
            max_clients: 256,
            max_rate: None,
            max_time: None,
            allow: Vec::new(),
            idle_timeout: Duration::from_secs(60),
            tool: "caudal".to_owned(),
            iperf3: Iperf3Options::default(),
        }
    }
}

/// What a server tells of its work.
#[derive(Debug, Clone)]
pub enum ServerEvent {
    /// A client was welcomed.
    Connected {
        /// Its number.
        client: u64,
        /// Its address.
        peer: SocketAddr,
        /// What it says it is.
        tool: String,
    },
    /// A test begins.
    Started {
        /// The client's number.
        client: u64,
        /// What is done.
        plan: Box<Plan>,
    },
    /// A test is over.
    Finished {
        /// The client's number.
        client: u64,
        /// Payload bytes that arrived here.
        received: u64,
        /// Payload bytes sent from here.
        sent: u64,
        /// How long it took.
        took: Duration,
        /// Why it ended early, if it did.
        stopped: Option<String>,
    },
    /// A client was turned away, or its conversation ended in an error.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// Why.
        why: String,
    },
    /// Something happened in a test of iperf3.
    Iperf3 {
        /// The client's number.
        client: u64,
        /// What.
        event: Box<Iperf3Event>,
    },
    /// A client has left.
    Left {
        /// Its number.
        client: u64,
    },
}

/// A data socket that has arrived for a test.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A TCP connection that named the test and this flow.
    Tcp(u32, TcpStream),
    /// A UDP socket towards an address that sent the test's token for this flow.
    Udp(u32, UdpSocket, SocketAddr),
}

/// Where the data sockets of a test are delivered.
pub(crate) struct Mailbox {
    pub(crate) arrivals: Sender<Arrival>,
    pub(crate) bell: Ringer,
}

/// What all threads of a server share.
pub(crate) struct Shared {
    pub(crate) options: ServerOptions,
    /// The places, which guests of other protocols take as well.
    pub(crate) guests: Guests,
    stop: Stop,
    mailboxes: Mutex<HashMap<Token, Mailbox>>,
    pub(crate) desk: Desk,
    events: Mutex<Option<Sender<ServerEvent>>>,
    sessions: Mutex<Vec<JoinHandle<()>>>,
}

impl Shared {
    pub(crate) fn mailboxes(&self) -> MutexGuard<'_, HashMap<Token, Mailbox>> {
        self.mailboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn tell(&self, event: ServerEvent) {
        if let Some(events) = &*self.events.lock().unwrap_or_else(PoisonError::into_inner) {
            // Nobody listening is nobody's loss.
            let _ = events.send(event);
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_asked()
    }

    /// Readable once the server is being stopped.
    pub(crate) fn stop_fd(&self) -> BorrowedFd<'_> {
        self.stop.fd()
    }

    pub(crate) fn sessions(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server's work is done: it was for one client, and that has left.
    pub(crate) fn is_done(&self) -> bool {
        self.options.one_off && self.guests.served() > 0 && self.guests.inside() == 0
    }
}

/// A running server; stopped when dropped.
pub struct Server {
    shared: Arc<Shared>,
    local: SocketAddr,
    reception: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the port cannot be had, or a thread cannot be started.
    pub fn start(
        options: ServerOptions,
        events: Option<Sender<ServerEvent>>,
    ) -> Result<Self, RunError> {
        let place = match options.bind {
            Some(address) => format!("listening on {}", SocketAddr::new(address, options.port)),
            None => format!("listening on port {}", options.port),
        };
        let (tcp, udp, local) = socket::listen(options.bind, options.port)
            .map_err(|cause| RunError::local(place, cause))?;
        let stop = Stop::new().map_err(|cause| RunError::local("opening a pipe", cause))?;
        let shared = Arc::new(Shared {
            guests: Guests::new(options.allow.clone(), options.max_clients),
            options,
            stop,
            mailboxes: Mutex::default(),
            desk: Desk::default(),
            events: Mutex::new(events),
            sessions: Mutex::default(),
        });
        let for_thread = Arc::clone(&shared);
        let reception = thread::Builder::new()
            .name("reception".to_owned())
            .spawn(move || reception::receive(&for_thread, &tcp, &udp))
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            shared,
            local,
            reception: Some(reception),
        })
    }

    /// The address and port it listens on.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Whether it has ended by itself.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.reception.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Clients it is serving now.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.shared.guests.inside()
    }

    /// The server's places, for guests that speak other protocols.
    #[must_use]
    pub fn guests(&self) -> Guests {
        self.shared.guests.clone()
    }

    /// Ends running tests, which report what was measured, and waits until all clients have been told.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.stop.ask();
        if let Some(reception) = self.reception.take() {
            let _ = reception.join();
        }
        let sessions = std::mem::take(&mut *self.shared.sessions());
        see_out(sessions, Duration::from_secs(5));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
