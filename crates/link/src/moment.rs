//! Points of virtual time.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A point in virtual time: nanoseconds since the emulation began, enough for 584 years.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// When the emulation began.
    pub const START: Self = Self(0);

    /// The moment `ns` nanoseconds after the start.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero when it is not.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns_since(earlier))
    }

    pub(crate) const fn ns_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    pub(crate) const fn plus_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// The moment `later` after this one, at most the last one there is.
    fn add(self, later: Duration) -> Self {
        self.plus_ns(whole_ns(later))
    }
}

/// A duration in nanoseconds, at most `u64::MAX`.
pub(crate) fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
