//! The entry of a running test in the registry.

use super::registry::{Iperf3Registry, StreamArrival};
use caudal_flow::{RunError, Wakeup};
use caudal_wire::iperf3::Cookie;
use std::sync::mpsc::{Receiver, channel};

/// A test in the registry, removed when dropped.
pub(super) struct RegisteredTest<'a> {
    tests: &'a Iperf3Registry,
    pub(super) cookie: Cookie,
    pub(super) arrivals: Receiver<StreamArrival>,
    pub(super) wakeup: Wakeup,
}

impl<'a> RegisteredTest<'a> {
    /// Registers a test; `None` when one with that cookie is running.
    pub(super) fn new(tests: &'a Iperf3Registry, cookie: Cookie) -> Result<Option<Self>, RunError> {
        let pipe = |cause| RunError::local("opening a pipe", cause);
        let wakeup = Wakeup::new().map_err(pipe)?;
        let (sender, arrivals) = channel();
        let waker = wakeup.waker().map_err(pipe)?;
        let is_new = tests.insert(cookie, sender, waker);
        Ok(is_new.then_some(Self {
            tests,
            cookie,
            arrivals,
            wakeup,
        }))
    }
}

impl Drop for RegisteredTest<'_> {
    fn drop(&mut self) {
        self.tests.remove(&self.cookie);
    }
}
