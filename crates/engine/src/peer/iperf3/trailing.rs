//! The wait for data that is still on its way when a test ends.

use crate::flow::FlowSet;
use caudal_core::sample::Role;
use caudal_sys::clock::{monotonic_ns, sleep_until};

/// The time after the end of a test in which its data may still arrive, ns.
const TRAILING_NS: u64 = 1_500_000_000;
/// The time without a byte after which no more is expected over TCP, ns.
const QUIET_NS: u64 = 300_000_000;
/// The interval at which the streams are looked at, ns.
const CHECK_NS: u64 = 1_000_000;

/// Waits until all data has arrived: over UDP until the receivers are over, over TCP until `has_all`, or a while without
/// a byte.
pub(super) fn await_trailing(set: &FlowSet, is_udp: bool, has_all: impl Fn() -> bool) {
    let now = monotonic_ns();
    let (mut progress, mut progress_ns) = (set.progress(), now);
    let until_ns = now + TRAILING_NS;
    loop {
        let now = monotonic_ns();
        let is_complete = if is_udp {
            set.is_over(Role::Receiver)
        } else {
            has_all()
        };
        if is_complete || now >= until_ns {
            return;
        }
        if set.progress() != progress {
            (progress, progress_ns) = (set.progress(), now);
        } else if !is_udp && now >= progress_ns + QUIET_NS {
            return;
        }
        sleep_until(now + CHECK_NS);
    }
}
