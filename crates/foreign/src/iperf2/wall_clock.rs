//! The wall clock as iperf 2's headers carry it: seconds and microseconds.

use caudal_sys::clock::realtime_ns;

/// The present.
pub(super) fn wall_clock() -> (u32, u32) {
    seconds_and_micros(realtime_ns())
}

/// A time in ns as whole seconds and the microseconds of the rest.
pub(super) const fn seconds_and_micros(ns: u64) -> (u32, u32) {
    ((ns / 1_000_000_000) as u32, (ns / 1000 % 1_000_000) as u32)
}
