//! The limits that a server sets on the tests of its clients, whatever protocol they speak.

use crate::client_source::ClientSource;
use crate::memory::MemoryBudget;
use caudal_core::units::{BitRate, ByteCount};
use caudal_wire::message::PublishedLimits;
use std::net::IpAddr;
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

    /// The limits of a client at `address`, whose source has its share of the memory.
    #[must_use]
    pub fn of_client(&self, address: IpAddr) -> Self {
        Self {
            memory: self.memory.of_source(ClientSource::from(address)),
            ..self.clone()
        }
    }

    /// The limits as they are announced to clients.
    pub fn published(&self) -> PublishedLimits {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        PublishedLimits {
            max_rate_bps: self.max_rate,
            max_time_ns: self.max_time.map(ns),
            max_bytes: self.max_bytes,
        }
    }

    /// These limits for a part of a test that has several: `sixteenths` of the rate and of the payload.
    pub fn share(&self, sixteenths: u64) -> Self {
        let share = |whole: u64| (u128::from(whole) * u128::from(sixteenths) / 16) as u64;
        Self {
            max_rate: self
                .max_rate
                .map(|max| BitRate::from_bps(share(max.bps()).max(1000))),
            max_bytes: self.max_bytes.map(|max| ByteCount::new(share(max.get()))),
            ..self.clone()
        }
    }

    /// The maximum rate of each of `flows` that share a direction: no less than the minimum rate of a plan.
    pub fn rate_per_flow(&self, flows: u32) -> Option<BitRate> {
        self.max_rate
            .map(|max| BitRate::from_bps((max.bps() / u64::from(flows.max(1))).max(1000)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_test_share_its_limits() {
        let limits = SessionLimits {
            max_rate: Some(BitRate::from_bps(160_000)),
            max_bytes: Some(ByteCount::new(u64::MAX)),
            ..SessionLimits::unlimited()
        };
        let parts = [limits.share(14), limits.share(1), limits.share(1)];
        let rates = parts.each_ref().map(|part| part.max_rate.map(BitRate::bps));
        assert_eq!(rates, [Some(140_000), Some(10_000), Some(10_000)]);
        let bytes = parts
            .iter()
            .filter_map(|part| part.max_bytes.map(|max| u128::from(max.get())));
        assert!(bytes.sum::<u128>() <= u128::from(u64::MAX));
        assert_eq!(SessionLimits::unlimited().share(1).max_rate, None);
    }
}
