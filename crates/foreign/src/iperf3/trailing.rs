//! The wait for data that is still on its way when a test ends.

use caudal_core::sample::Role;
use caudal_flow::FlowSet;
use caudal_sys::clock::{monotonic_ns, sleep_until};

/// Maximum time after the end of a test in which its data may still arrive, ns.
const MAX_TRAILING_NS: u64 = 1_500_000_000;
/// The time any test has for that, ns.
const MIN_TRAILING_NS: u64 = 150_000_000;
/// The part of a test's time that it may wait longer for its data.
const TRAILING_PART: u64 = 10;
/// The part of a test's time by which its end may be announced late.
const GRACE_PART: u64 = 500;
/// The time without a byte after which no more is expected over TCP, ns.
const QUIET_NS: u64 = 300_000_000;
/// The interval at which the streams are looked at, ns.
const CHECK_NS: u64 = 1_000_000;

/// The time until which the data of a test may arrive, which ended at `ended_ns` of the monotonic clock.
pub(super) const fn max_trailing(ended_ns: u64) -> u64 {
    ended_ns + MAX_TRAILING_NS
}

/// The time until which what a TCP sender had in its buffer may arrive: what leaves it slowly, because it is paced or the
/// network is slow, would make a short test several times as long.
pub(super) fn tcp_trailing(ended_ns: u64, elapsed_ns: u64) -> u64 {
    ended_ns + (elapsed_ns / TRAILING_PART).clamp(MIN_TRAILING_NS, MAX_TRAILING_NS)
}

/// The time by which the end of a test of `elapsed_ns` may be announced late, so that the server's program has read
/// everything: the server's clock runs until the announcement.
pub(super) const fn reading_grace(elapsed_ns: u64) -> u64 {
    elapsed_ns / GRACE_PART
}

/// Waits until all data has arrived, at most until `until_ns`: over UDP until the receivers are over, over TCP until `has_all`,
/// or a while without a byte.
pub(super) fn await_trailing(
    set: &FlowSet,
    is_udp: bool,
    until_ns: u64,
    has_all: impl Fn() -> bool,
) {
    let (mut progress, mut progress_ns) = (set.progress(), monotonic_ns());
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn a_short_test_does_not_wait_long_for_what_leaves_slowly() {
        let waits = [0, 1, 5, 60].map(|seconds| tcp_trailing(7, seconds * SECOND_NS) - 7);
        assert_eq!(
            waits,
            [
                MIN_TRAILING_NS,
                MIN_TRAILING_NS,
                SECOND_NS / 2,
                MAX_TRAILING_NS
            ]
        );
    }

    #[test]
    fn the_announcement_of_the_end_changes_a_rate_by_two_tenths_of_a_percent_at_most() {
        for elapsed_ns in [42_000_000, SECOND_NS, 60 * SECOND_NS] {
            assert!(reading_grace(elapsed_ns) * 500 <= elapsed_ns);
        }
    }
}
