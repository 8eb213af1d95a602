//! A server of metrics over HTTP: one thread, in which nothing waits for a single client.

use super::address::MetricsAddress;
use super::connection::{HttpConnection, HttpProgress, MetricsPage};
use caudal_engine::Network;
use caudal_sys::host::hostname;
use caudal_sys::poll::{PollState, poll_ready};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Maximum number of connections; the oldest gives way to a new one.
const MAX_CONNECTIONS: usize = 64;
/// Maximum number of connections accepted in one round.
const MAX_PER_ROUND: usize = 16;
/// The interval at which it is looked whether the server is being stopped.
const STOP_WAIT: Duration = Duration::from_millis(100);
/// The wait after an error of the kernel, such as one of too many descriptors.
const ERROR_WAIT: Duration = Duration::from_millis(20);

/// Makes the metrics of now.
pub type MetricsText = Box<dyn Fn() -> String + Send>;

/// A running server of metrics; stopped when dropped.
pub struct MetricsServer {
    local: SocketAddr,
    is_stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Starts to listen. Beside this host itself, clients from the networks of `allow` are answered, or all where there are none; `names`
    /// are those of this host beside its own. `text` makes the metrics of now.
    ///
    /// # Errors
    /// When the address is not available, or the kernel gives no thread.
    pub fn start(
        address: MetricsAddress,
        allow: &[Network],
        names: &[String],
        text: MetricsText,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address.0)?;
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let server = MetricsThread {
            listener,
            text,
            is_stopping: Arc::clone(&is_stopping),
            allow: allow.to_vec(),
            names: hostname()
                .into_iter()
                .chain(names.iter().cloned())
                .collect(),
            connections: Vec::new(),
        };
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || server.run())?;
        Ok(Self {
            local,
            is_stopping,
            thread: Some(thread),
        })
    }

    /// The address and port it listens on.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread of the server.
struct MetricsThread {
    listener: TcpListener,
    text: MetricsText,
    is_stopping: Arc<AtomicBool>,
    allow: Vec<Network>,
    names: Vec<String>,
    /// In the order in which they were accepted.
    connections: Vec<HttpConnection>,
}

impl MetricsThread {
    fn run(mut self) {
        while !self.is_stopping.load(Ordering::Relaxed) {
            let waited = self.connections.iter();
            let waited = waited.map(|one| (one.stream.as_fd(), one.awaited()));
            let listener = (self.listener.as_fd(), PollState::Readable);
            let ready = poll_ready([listener].into_iter().chain(waited), Some(STOP_WAIT));
            let Ok(ready) = ready else {
                thread::sleep(ERROR_WAIT);
                continue;
            };
            self.advance(ready.get(1..).unwrap_or_default());
            if ready.first() == Some(&true) {
                self.accept();
            }
        }
    }

    /// Goes on with the connections that are ready, and closes those whose time is over.
    fn advance(&mut self, ready: &[bool]) {
        let now = Instant::now();
        let page = MetricsPage {
            metrics: &self.text,
            names: &self.names,
        };
        let mut nth = 0;
        self.connections.retain_mut(|one| {
            let is_ready = ready.get(nth) == Some(&true);
            nth += 1;
            let is_over = is_ready && one.advance(now, &page) == HttpProgress::Over;
            !is_over && now < one.deadline
        });
    }

    fn is_allowed(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let mut allowed = self.allow.iter();
        address.is_loopback()
            || self.allow.is_empty()
            || allowed.any(|network| network.contains(address))
    }

    fn accept(&mut self) {
        for _ in 0..MAX_PER_ROUND {
            match self.listener.accept() {
                Ok((stream, peer)) => {
                    if !self.is_allowed(peer.ip()) || stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.connections.len() >= MAX_CONNECTIONS {
                        self.connections.remove(0);
                    }
                    let connection = HttpConnection::new(stream, Instant::now());
                    self.connections.push(connection);
                }
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Out of descriptors at worst: the oldest gives way.
                    if !self.connections.is_empty() {
                        self.connections.remove(0);
                    }
                    thread::sleep(ERROR_WAIT);
                    return;
                }
            }
        }
    }
}
