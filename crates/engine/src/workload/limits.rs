//! The limits a server sets on tests.

use std::time::Duration;

/// The limits a server sets on each test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerLimits {
    /// The maximum rate in one direction, bit/s.
    pub(crate) max_rate: Option<u64>,
    /// The maximum duration.
    pub(crate) max_time: Option<Duration>,
    /// The time a client may make no progress.
    pub(crate) idle_timeout: Duration,
}

impl ServerLimits {
    /// The maximum rate of each of `flows` that share a direction, bit/s: no less than the minimum rate of a plan.
    pub(crate) fn rate_per_flow(&self, flows: u32) -> Option<u64> {
        self.max_rate
            .map(|max| (max / u64::from(flows.max(1))).max(1000))
    }
}
