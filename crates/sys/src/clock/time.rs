//! The clocks of the machine, and waiting for a time.

use std::io;
use std::num::NonZeroU64;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use rustix::thread::{clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Nanoseconds on `CLOCK_MONOTONIC`, which never steps, counted from some time at or before the boot.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// The time for which the machine has been suspended since it booted, ns: what `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`, which
/// stands still meanwhile. Only its differences mean anything in a time namespace.
pub fn suspended_ns() -> u64 {
    let monotonic = monotonic_ns();
    nanoseconds(clock_gettime(ClockId::Boottime)).saturating_sub(monotonic)
}

/// Nanoseconds on `CLOCK_REALTIME`, the wall clock, since 1970-01-01 UTC. The administrator may step this clock.
///
/// It is read through the C library's clock_gettime(2), which a test may replace to have the clock step.
pub fn realtime_ns() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since| since.as_nanos() as u64)
}

/// What the wall clock is ahead of the monotonic clock, ns; `None` where this thread was held up between reading the two.
pub fn wall_offset_ns() -> Option<i64> {
    /// Maximum time between the readings, ns.
    const MAX_BETWEEN_NS: u64 = 1_000_000;
    let before = monotonic_ns();
    let wall = realtime_ns();
    let between = monotonic_ns() - before;
    (between <= MAX_BETWEEN_NS).then(|| wall as i64 - (before + between / 2) as i64)
}

/// The length of the kernel's timer tick, ns: the resolution of the times in milliseconds that it reports of a connection.
pub fn tick_ns() -> u64 {
    nanoseconds(clock_getres(ClockId::MonotonicCoarse))
}

/// Waits until [`monotonic_ns`] has reached the deadline; returns at once when it already has.
///
/// Signals do not shorten the wait.
pub fn sleep_until(deadline_monotonic_ns: u64) {
    let deadline = Timespec {
        tv_sec: (deadline_monotonic_ns / NANOS_PER_SECOND) as i64,
        tv_nsec: (deadline_monotonic_ns % NANOS_PER_SECOND) as _,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &deadline) == Err(Errno::INTR) {}
}

/// Allows the kernel to wake the calling thread up to `slack` nanoseconds late, to save wake-ups.
///
/// The default is 50 µs; 1 is the minimum, as 0 means the default. Source: prctl(2), `PR_SET_TIMERSLACK`.
///
/// # Errors
/// Any error of prctl(2).
pub fn set_timer_slack_ns(slack: u64) -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(slack))?)
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * NANOS_PER_SECOND + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_never_ends_before_its_deadline() {
        for wait in [0, 50_000, 1_000_000] {
            let deadline = monotonic_ns() + wait;
            sleep_until(deadline);
            assert!(monotonic_ns() >= deadline);
        }
        sleep_until(0);
    }

    #[test]
    fn a_tick_is_between_a_tenth_of_a_millisecond_and_ten() {
        assert!((100_000..=10_100_000).contains(&tick_ns()));
    }

    #[test]
    fn the_wall_clock_is_past_the_year_2020() {
        assert!(realtime_ns() > 1_577_836_800_000_000_000);
    }

    #[test]
    fn the_timer_slack_can_be_lowered() {
        set_timer_slack_ns(1).unwrap();
    }
}
