//! Round trips on a WebSocket of their own: pings, which the browser answers without its script.

use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, WebSocket};

/// The time between two pings, ns.
pub(super) const PERIOD_NS: u64 = 50_000_000;
/// Maximum number of pings.
const MAX_PINGS: usize = 2000;

/// A ping, and its answer where one has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundTrip {
    /// The time at which it was due, ns of the monotonic clock.
    pub(super) due_ns: u64,
    /// The time until its answer, ns.
    pub(super) rtt_ns: Option<u64>,
}

/// The thread that pings.
pub(super) struct PingProber {
    trips: Arc<Mutex<Vec<RoundTrip>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PingProber {
    /// Begins to ping over a WebSocket.
    ///
    /// # Errors
    /// When the kernel grants no thread.
    pub(super) fn begin(stream: TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let config = WebSocketConfig::default()
            .read_buffer_size(1 << 10)
            .max_message_size(Some(125))
            .max_frame_size(Some(125));
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, Some(config));
        let trips = Arc::<Mutex<Vec<RoundTrip>>>::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let (inner, over) = (Arc::clone(&trips), Arc::clone(&is_over));
        let thread = thread::Builder::new()
            .name("pings".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                let _ = ping(&mut socket, &inner, &over);
            })?;
        Ok(Self {
            trips,
            is_over,
            thread: Some(thread),
        })
    }

    /// The round trips so far that were due in this time, ns of the monotonic clock.
    pub(super) fn between(&self, from_ns: u64, to_ns: u64) -> Vec<RoundTrip> {
        let trips = self.trips.lock().unwrap_or_else(PoisonError::into_inner);
        let due = |trip: &&RoundTrip| (from_ns..to_ns).contains(&trip.due_ns);
        trips.iter().filter(due).copied().collect()
    }
}

impl Drop for PingProber {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Pings on the schedule, and takes the answers, until it is over or the connection is.
fn ping(
    socket: &mut WebSocket<TcpStream>,
    trips: &Mutex<Vec<RoundTrip>>,
    is_over: &AtomicBool,
) -> Result<(), Error> {
    let mut due_ns = monotonic_ns();
    while !is_over.load(Relaxed) {
        let now_ns = monotonic_ns();
        if now_ns >= due_ns {
            let mut all = trips.lock().unwrap_or_else(PoisonError::into_inner);
            let number = all.len();
            if number < MAX_PINGS {
                all.push(RoundTrip {
                    due_ns,
                    rtt_ns: None,
                });
                drop(all);
                let content = (number as u64).to_be_bytes().to_vec();
                match socket.send(Message::Ping(content.into())) {
                    Err(error) if !is_blocked(&error) => return Err(error),
                    _ => {}
                }
            }
            due_ns += PERIOD_NS;
            continue;
        }
        let wait = Duration::from_nanos(due_ns - now_ns);
        let ready = poll_readable(&[socket.get_ref().as_fd()], Some(wait))?;
        if !ready.contains(&true) {
            continue;
        }
        let arrived_ns = monotonic_ns();
        loop {
            match socket.read() {
                Ok(Message::Pong(content)) => {
                    let number = content.as_ref().try_into().map(u64::from_be_bytes);
                    let mut all = trips.lock().unwrap_or_else(PoisonError::into_inner);
                    let trip = number.ok().and_then(|number| all.get_mut(number as usize));
                    if let Some(trip) = trip.filter(|trip| trip.rtt_ns.is_none()) {
                        trip.rtt_ns = Some(arrived_ns.saturating_sub(trip.due_ns));
                    }
                }
                Ok(_) => {}
                Err(error) if is_blocked(&error) => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn is_blocked(error: &Error) -> bool {
    matches!(error, Error::Io(cause) if cause.kind() == io::ErrorKind::WouldBlock)
}
