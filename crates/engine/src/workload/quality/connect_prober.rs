//! Requests on new connections beside a load: the time a handshake takes, and that from a request to its answer.

use caudal_core::quality::ConnectProbe;
use caudal_flow::socket::connect_within;
use caudal_flow::{FlowSignals, LocalBinding, RunError};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer, Purpose, TestToken};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const STACK_BYTES: usize = 128 << 10;
/// Maximum sleep before the thread looks whether it is stopped, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;

/// The settings of the requests.
pub(super) struct ConnectSettings {
    pub(super) peer: SocketAddr,
    pub(super) binding: LocalBinding,
    pub(super) token: TestToken,
    pub(super) period: Duration,
    /// The time allowed for a handshake, and for an answer.
    pub(super) timeout: Duration,
    /// The time after which no more requests are made.
    pub(super) time: Duration,
}

/// The thread that makes the requests.
pub(super) struct ConnectProber {
    signals: Arc<FlowSignals>,
    thread: Option<JoinHandle<Vec<ConnectProbe>>>,
}

impl ConnectProber {
    /// Makes requests from `start_ns` of the monotonic clock on.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn spawn(settings: ConnectSettings, start_ns: u64) -> Result<Self, RunError> {
        let signals = Arc::<FlowSignals>::default();
        let inner = Arc::clone(&signals);
        let thread = thread::Builder::new()
            .name("connects".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let probes = probe_until_stopped(&settings, start_ns, &inner);
                inner.set_over();
                probes
            })
            .map_err(|cause| RunError::local("starting a thread", cause))?;
        Ok(Self {
            signals,
            thread: Some(thread),
        })
    }

    /// Ends the requests; one that is being made is completed.
    pub(super) fn stop(&self) {
        self.signals.stop();
    }

    /// The requests made, once the thread has ended.
    pub(super) fn finish(mut self) -> Vec<ConnectProbe> {
        self.stop();
        let thread = self.thread.take().map(JoinHandle::join);
        thread.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for ConnectProber {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One request after another, each when it is due; those that fall due while one is being made are left out.
fn probe_until_stopped(
    settings: &ConnectSettings,
    start_ns: u64,
    signals: &FlowSignals,
) -> Vec<ConnectProbe> {
    let period_ns = settings.period.as_nanos().max(1) as u64;
    let end_ns = start_ns.saturating_add(settings.time.as_nanos() as u64);
    let mut probes = Vec::with_capacity((settings.time.as_nanos() as u64 / period_ns + 1) as usize);
    let mut due_ns = start_ns + period_ns / 2;
    while due_ns < end_ns {
        while !signals.is_stopped() && monotonic_ns() < due_ns {
            sleep_until(due_ns.min(monotonic_ns() + MAX_SLEEP_NS));
        }
        if signals.is_stopped() {
            break;
        }
        probes.push(probe(settings, start_ns));
        let passed = monotonic_ns().saturating_sub(due_ns) / period_ns;
        due_ns += (passed + 1) * period_ns;
    }
    probes
}

fn probe(settings: &ConnectSettings, start_ns: u64) -> ConnectProbe {
    let began_ns = monotonic_ns();
    let mut probe = ConnectProbe {
        at_ns: began_ns.saturating_sub(start_ns),
        connect_ns: None,
        answer_ns: None,
    };
    let connected = connect_within(settings.peer, &settings.binding, None, settings.timeout);
    let Ok(mut stream) = connected else {
        return probe;
    };
    let connected_ns = monotonic_ns();
    probe.connect_ns = Some(connected_ns - began_ns);
    let purpose = Purpose::Probe {
        token: settings.token,
    };
    let mut answer = [0; ANSWER_BYTES];
    let answered = stream
        .set_read_timeout(Some(settings.timeout))
        .and_then(|()| stream.write_all(&purpose.encode()))
        .and_then(|()| stream.read_exact(&mut answer));
    let is_answer = PreambleAnswer::decode(&answer) == Ok(PreambleAnswer::Attached);
    if answered.is_ok() && is_answer {
        probe.answer_ns = Some(monotonic_ns() - connected_ns);
    }
    let _ = stream.shutdown(Shutdown::Both);
    probe
}
