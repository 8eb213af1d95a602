//! The limits that a server sets on the tests of its clients, whatever protocol they speak.

use crate::memory::MemoryBudget;
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The limits that a server sets on the tests of its clients. They hold for what it receives as for what it sends.
#[derive(Debug, Clone, Default)]
pub struct SessionLimits {
    /// The maximum rate of a test in each direction.
    pub max_rate: Option<BitRate>,
    /// The maximum duration of a test.
    pub max_time: Option<Duration>,
    /// The maximum amount of payload of a test in each direction.
    pub max_bytes: Option<ByteCount>,
    /// The memory of all clients together.
    pub memory: MemoryBudget,
}

impl SessionLimits {
    /// The limits of a server that this program runs for itself: none.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            memory: MemoryBudget::unlimited(),
            ..Self::default()
        }
    }

    /// The maximum rate of each of `flows` that share a direction: no less than the minimum rate of a plan.
    pub(crate) fn rate_per_flow(&self, flows: u32) -> Option<BitRate> {
        self.max_rate
            .map(|max| BitRate::from_bps((max.bps() / u64::from(flows.max(1))).max(1000)))
    }
}
