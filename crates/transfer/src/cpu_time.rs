//! The CPU time of a thread.

use caudal_sys::clock::CpuClock;
use std::time::Duration;

/// The CPU time of the thread since `before`, ns; 0 where the kernel does not tell.
pub(super) fn cpu_ns_since(cpu: CpuClock, before: Option<Duration>) -> u64 {
    cpu.read().zip(before).map_or(0, |(after, before)| {
        after.saturating_sub(before).as_nanos() as u64
    })
}
