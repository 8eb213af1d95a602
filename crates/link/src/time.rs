//! Virtual time.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in virtual time: whole nanoseconds since the start, enough for 584 years.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of the emulation or simulation.
    pub const START: Self = Self(0);
    /// The latest point in time; it stands for "never" where events are compared.
    pub const MAX: Self = Self(u64::MAX);

    /// The point `ns` nanoseconds after the start.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The time since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns_since(earlier))
    }

    /// Nanoseconds since `earlier`; zero when `earlier` is later.
    #[must_use]
    pub const fn ns_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The point `ns` nanoseconds later, at most [`Self::MAX`].
    #[must_use]
    pub const fn plus_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }
}

impl Add<Duration> for SimTime {
    type Output = Self;

    /// The point `duration` later, at most [`SimTime::MAX`].
    fn add(self, duration: Duration) -> Self {
        self.plus_ns(duration_to_ns(duration))
    }
}

/// A duration in nanoseconds, at most `u64::MAX`.
#[must_use]
pub fn duration_to_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
