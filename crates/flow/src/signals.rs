//! The flags between a flow's thread and those that control it.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Condvar, Mutex, PoisonError};

/// The flags of a running flow.
#[derive(Debug, Default)]
pub struct FlowSignals {
    stop: AtomicBool,
    is_over: AtomicBool,
    /// Datagrams the other end has sent in total, plus one; 0 while that is not known.
    expected_plus_one: AtomicU64,
    /// The time at which it will be ended, ns of the monotonic clock; 0 while that is not known.
    stops_at_ns: AtomicU64,
}

impl FlowSignals {
    /// Ends the flow.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// `true` when the flow is to end now.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Tells the flow when it will be ended, ns of the monotonic clock, so that it does not wait beyond that.
    pub fn stop_at(&self, at_ns: u64) {
        self.stops_at_ns.store(at_ns, Relaxed);
    }

    /// The time beyond which the flow does not wait, ns of the monotonic clock.
    pub(crate) fn stops_at_ns(&self) -> u64 {
        match self.stops_at_ns.load(Relaxed) {
            0 => u64::MAX,
            at_ns => at_ns,
        }
    }

    /// Tells the receiver how many datagrams the other end has sent in total.
    pub(crate) fn expect_datagrams(&self, datagrams: u64) {
        self.expected_plus_one
            .store(datagrams.saturating_add(1), Relaxed);
    }

    /// The datagrams the other end has sent in total, once that is known.
    #[inline]
    pub(crate) fn expected_datagrams(&self) -> Option<u64> {
        self.expected_plus_one.load(Relaxed).checked_sub(1)
    }

    /// Marks that the flow's thread has written its counters for the last time.
    pub fn set_over(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// `true` when the flow's thread has written its counters for the last time.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }
}

/// The gate at which senders wait for the start of a test.
#[derive(Debug, Default)]
pub struct StartGate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl StartGate {
    /// Lets all senders through, now and later.
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Waits until the gate is open, or the flow is stopped.
    pub fn wait(&self, signals: &FlowSignals) {
        let mut is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_open && !signals.is_stopped() {
            is_open = self
                .opened
                .wait(is_open)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
