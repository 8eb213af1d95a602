//! The server's half of a test of the connection rate.

use super::attempt::TLS_REQUEST_BYTES;
use crate::workload::connection_answer::{ConnectionAnswer, PassedConnections};
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{FinishedServer, ServerEnding, ServerHalf};
use caudal_core::connect::ConnectAccount;
use caudal_core::event::EndedTest;
use caudal_core::plan::ConnectPlan;
use caudal_flow::LimitReached;
use caudal_flow::MemoryReservation;
use caudal_flow::RunError;
use caudal_flow::SessionLimits;
use caudal_sys::clock::monotonic_ns;
use caudal_transfer::TlsAnswerer;
use caudal_wire::final_report::FinalReport;
use caudal_wire::message::ToClient;
use caudal_wire::preamble::PreambleAnswer;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time after its planned end at which a test is ended by the server, ns.
const OVERDUE_NS: u64 = 15_000_000_000;
/// Maximum number of threads that make TLS handshakes, each of which waits for the round trips of one connection at a time.
const MAX_TLS_THREADS: u32 = 32;
/// The memory of a TLS handshake, bytes.
const HANDSHAKE_BYTES: u64 = 64 << 10;
/// Maximum time for the handshake and the request of a connection.
const MAX_ANSWER: Duration = Duration::from_secs(5);
const STACK_BYTES: usize = 256 << 10;
/// Maximum wait of a thread before it looks whether the test is over.
const WAIT_SLICE: Duration = Duration::from_millis(100);
/// Connections beyond its rate that a client may make at once.
const BURST: f64 = 100.0;

/// The server's half of a test of the connection rate.
pub(super) struct ConnectServerHalf {
    plan: ConnectPlan,
    /// Connections that were answered.
    answered: Arc<AtomicU64>,
    tls: Option<TlsThreads>,
    max_per_s: Option<f64>,
    max_time: Option<Duration>,
    start_ns: u64,
    is_stopped: bool,
    _memory: Option<MemoryReservation>,
}

impl ConnectServerHalf {
    pub(super) fn new(
        plan: &ConnectPlan,
        answerer: Option<TlsAnswerer>,
        limits: &ServerLimits,
    ) -> Result<Self, RunError> {
        let answered = Arc::<AtomicU64>::default();
        let (mut tls, mut memory) = (None, None);
        if let Some(answerer) = answerer {
            let threads = plan.parallel.clamp(1, MAX_TLS_THREADS) as usize;
            memory = Some(
                limits
                    .session
                    .memory
                    .reserve(threads as u64 * HANDSHAKE_BYTES)?,
            );
            tls = Some(TlsThreads::spawn(
                threads,
                &answerer,
                plan.timeout,
                &answered,
            )?);
        }
        Ok(Self {
            plan: plan.clone(),
            answered,
            tls,
            max_per_s: max_per_s(&limits.session, plan.tls),
            max_time: limits.session.max_time,
            start_ns: 0,
            is_stopped: false,
            _memory: memory,
        })
    }
}

/// The connections per second that a server's maximum rate has room for; `None` without one.
pub(super) fn max_per_s(limits: &SessionLimits, tls: bool) -> Option<f64> {
    let bits = connection_bytes(tls) as f64 * 8.0;
    limits
        .max_rate
        .map(|max| (max.bps() as f64 / bits).max(1.0))
}

/// Bytes that a connection sends in the direction that sends more, with its headers, in frames of Ethernet over IPv6.
pub(super) const fn connection_bytes(tls: bool) -> u64 {
    if tls { 2500 } else { 500 }
}

impl ServerHalf for ConnectServerHalf {
    fn wakeup_fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn due_ns(&self) -> Option<u64> {
        // The rate, and the progress, of connections that other threads answer are looked at.
        (!self.is_stopped).then(|| monotonic_ns() + WAIT_SLICE.as_nanos() as u64)
    }

    fn start(&mut self) {
        self.start_ns = monotonic_ns();
    }

    fn limit_reached(&self, now_ns: u64) -> Option<LimitReached> {
        let elapsed_s = now_ns.saturating_sub(self.start_ns) as f64 / 1e9;
        if self
            .max_time
            .is_some_and(|max| elapsed_s > max.as_secs_f64() + 1.0)
        {
            return Some(LimitReached::Time);
        }
        let allowed = self.max_per_s? * (elapsed_s + 1.0) * 1.2 + BURST;
        (self.answered.load(Relaxed) as f64 > allowed).then_some(LimitReached::Connections)
    }

    fn limit_due_ns(&self) -> Option<u64> {
        None
    }

    fn ending(&self, limits: &ServerLimits) -> ServerEnding {
        let timeout_ns = self.plan.timeout.as_nanos() as u64;
        let period_ns = self
            .plan
            .period
            .map_or(0, |period| period.as_nanos() as u64);
        ServerEnding {
            overdue_ns: Some(self.plan.time.as_nanos() as u64 + timeout_ns + OVERDUE_NS),
            idle_ns: limits.idle_timeout.as_nanos() as u64 + period_ns + timeout_ns,
        }
    }

    fn advance(&mut self, _now_ns: u64) -> Vec<ToClient> {
        Vec::new()
    }

    fn client_stopped(&mut self, _is_immediate: bool, _sent: &[(u32, u64)]) {
        self.is_stopped = true;
    }

    fn is_over(&self) -> bool {
        self.is_stopped
    }

    fn progress(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    fn connection_answer(&self) -> Option<ConnectionAnswer> {
        Some(match &self.tls {
            Some(tls) => ConnectionAnswer::Pass(tls.connections.clone()),
            None => ConnectionAnswer::AtOnce(Arc::clone(&self.answered)),
        })
    }

    fn finish(self: Box<Self>) -> FinishedServer {
        FinishedServer {
            report: FinalReport::Connect(ConnectAccount {
                answered: self.answered.load(Relaxed),
            }),
            ended: EndedTest::default(),
        }
    }
}

/// The threads that make TLS handshakes, which end with the test.
struct TlsThreads {
    connections: PassedConnections,
    threads: Vec<JoinHandle<()>>,
}

impl TlsThreads {
    fn spawn(
        number: usize,
        answerer: &TlsAnswerer,
        timeout: Duration,
        answered: &Arc<AtomicU64>,
    ) -> Result<Self, RunError> {
        let mut all = Self {
            connections: PassedConnections::default(),
            threads: Vec::with_capacity(number),
        };
        for nth in 0..number {
            let (connections, answerer) = (all.connections.clone(), answerer.clone());
            let answered = Arc::clone(answered);
            let thread = thread::Builder::new()
                .name(format!("tls {nth}"))
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    while let Some(connection) = connections.next() {
                        answer(&answerer, &connection, timeout);
                        answered.fetch_add(1, Relaxed);
                    }
                })
                .map_err(|cause| RunError::local("starting a thread", cause))?;
            all.threads.push(thread);
        }
        Ok(all)
    }
}

impl Drop for TlsThreads {
    fn drop(&mut self) {
        self.connections.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Makes a handshake and answers a request; what fails is the client's to report.
fn answer(answerer: &TlsAnswerer, connection: &TcpStream, timeout: Duration) {
    let timeout = timeout.min(MAX_ANSWER);
    let is_ready = connection.set_nonblocking(false).is_ok()
        && connection.set_nodelay(true).is_ok()
        && connection.set_read_timeout(Some(timeout)).is_ok()
        && connection.set_write_timeout(Some(timeout)).is_ok();
    if is_ready {
        let socket = TimedSocket {
            connection,
            until_ns: monotonic_ns() + timeout.as_nanos() as u64,
        };
        let mut request = [0; TLS_REQUEST_BYTES];
        let _ = answerer.answer(socket, &mut request, &PreambleAnswer::Attached.encode());
    }
}

/// A connection whose client has until then for all it sends: one that sends byte by byte holds its thread no longer.
struct TimedSocket<'a> {
    connection: &'a TcpStream,
    /// The end, ns of the monotonic clock.
    until_ns: u64,
}

impl TimedSocket<'_> {
    fn check(&self) -> io::Result<()> {
        if monotonic_ns() < self.until_ns {
            return Ok(());
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl Read for TimedSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        self.connection.read(buffer)
    }
}

impl Write for TimedSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        self.connection.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
