//! The threads that open connections.

use super::attempt::{AttemptSettings, Attempts};
use caudal_analysis::connect::ConnectAttempt;
use caudal_core::connect::ConnectFailure;
use caudal_core::plan::ConnectPlan;
use caudal_core::text::ExternalText;
use caudal_flow::{FlowSignals, RunError};
use caudal_sys::affinity;
use caudal_sys::clock::{monotonic_ns, set_timer_slack_ns, sleep_until};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

const STACK_BYTES: usize = 256 << 10;
/// Maximum sleep before a thread looks whether it is stopped, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;
/// The pause after an attempt for which this host had no port or no memory, ns.
const PAUSE_NS: u64 = 10_000_000;
/// Attempts of one thread that wait to be added up: beyond that it waits.
const MAX_WAITING: usize = 1 << 16;

/// What the threads share.
struct Shared {
    settings: AttemptSettings,
    signals: FlowSignals,
    /// The start of the test, ns of the monotonic clock.
    start_ns: u64,
    /// The time at which no more attempts begin, ns of the monotonic clock.
    end_ns: u64,
    period_ns: Option<u64>,
    count: u64,
    /// Attempts begun.
    begun: AtomicU64,
    ended: Mutex<Vec<ConnectAttempt>>,
    last_failure: Mutex<Option<ExternalText>>,
}

/// The threads that open connections, stopped and joined when dropped.
pub(super) struct Openers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Openers {
    /// Begins to open connections at `start_ns` of the monotonic clock, on threads pinned to the processors that `cpu` gives.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn spawn(
        plan: &ConnectPlan,
        settings: AttemptSettings,
        start_ns: u64,
        cpu: impl Fn(usize) -> Option<usize>,
    ) -> Result<Self, RunError> {
        let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let shared = Arc::new(Shared {
            settings,
            signals: FlowSignals::default(),
            start_ns,
            end_ns: start_ns.saturating_add(ns(plan.time)),
            period_ns: plan.period.map(ns),
            count: plan.count.unwrap_or(u64::MAX),
            begun: AtomicU64::new(0),
            ended: Mutex::default(),
            last_failure: Mutex::default(),
        });
        let mut openers = Self {
            shared,
            threads: Vec::with_capacity(plan.parallel as usize),
        };
        for nth in 0..plan.parallel as usize {
            let (shared, cpu) = (Arc::clone(&openers.shared), cpu(nth));
            let thread = thread::Builder::new()
                .name(format!("opener {nth}"))
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    if let Some(cpu) = cpu {
                        let _ = affinity::pin_this_thread(cpu);
                    }
                    let _ = set_timer_slack_ns(1);
                    shared.open_connections();
                })
                .map_err(|cause| RunError::local("starting a thread", cause))?;
            openers.threads.push(thread);
        }
        Ok(openers)
    }

    /// The attempts that have ended since the last call.
    pub(super) fn take_ended(&self) -> Vec<ConnectAttempt> {
        let mut ended = self
            .shared
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut ended)
    }

    /// The text of the last failure that has one.
    pub(super) fn last_failure(&self) -> Option<ExternalText> {
        let last = self.shared.last_failure.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the attempts; those that are being made are given up.
    pub(super) fn stop(&self) {
        self.shared.signals.stop();
    }

    /// `true` when all threads have ended.
    pub(super) fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }
}

impl Drop for Openers {
    fn drop(&mut self) {
        self.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Makes attempts until the test is over.
    fn open_connections(&self) {
        let mut attempts = Attempts {
            settings: &self.settings,
            signals: &self.signals,
            start_ns: self.start_ns,
            last_failure: None,
        };
        while let Some(due_ns) = self.await_next() {
            let Some(attempt) = attempts.make(due_ns) else {
                break;
            };
            if let Some(text) = attempts.last_failure.take() {
                let mut last = self
                    .last_failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                *last = Some(text);
            }
            let has_paused = matches!(
                attempt.failure,
                Some(ConnectFailure::NoLocalPort | ConnectFailure::Local)
            );
            self.keep(attempt);
            if has_paused {
                sleep_until(monotonic_ns() + PAUSE_NS);
            }
        }
    }

    /// Waits until another attempt is due, ns of the monotonic clock; `None` when there is none any more.
    fn await_next(&self) -> Option<u64> {
        let nth = self.begun.fetch_add(1, Relaxed);
        if nth >= self.count {
            return None;
        }
        let due_ns = match self.period_ns {
            Some(period_ns) => self.start_ns.saturating_add(nth.saturating_mul(period_ns)),
            None => monotonic_ns().max(self.start_ns),
        };
        if due_ns >= self.end_ns {
            return None;
        }
        loop {
            if self.signals.is_stopped() {
                return None;
            }
            let now_ns = monotonic_ns();
            if now_ns >= self.end_ns {
                return None;
            }
            if now_ns >= due_ns {
                return Some(due_ns);
            }
            sleep_until(due_ns.min(now_ns + MAX_SLEEP_NS));
        }
    }

    /// Hands an attempt over to be added up.
    fn keep(&self, attempt: ConnectAttempt) {
        loop {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            if ended.len() < MAX_WAITING || self.signals.is_stopped() {
                ended.push(attempt);
                return;
            }
            drop(ended);
            sleep_until(monotonic_ns() + 1_000_000);
        }
    }
}
