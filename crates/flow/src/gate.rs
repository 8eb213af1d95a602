//! The gate at which senders wait for the start of a test.

use super::signals::FlowSignals;
use std::sync::{Condvar, Mutex, PoisonError};

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
