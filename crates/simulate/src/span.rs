//! Nanoseconds between moments.

use std::time::Duration;

use caudal_link::moment::Moment;

/// Nanoseconds from `earlier` to `later`; zero when it is not later.
pub(crate) const fn ns_between(earlier: Moment, later: Moment) -> u64 {
    later.ns().saturating_sub(earlier.ns())
}

/// The moment `ns` nanoseconds after `moment`, at most the last one there is.
pub(crate) const fn after(moment: Moment, ns: u64) -> Moment {
    Moment::from_ns(moment.ns().saturating_add(ns))
}

/// A duration in nanoseconds, at most `u64::MAX`.
pub(crate) fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
