//! The time that a test has taken.

use std::time::Duration;

/// The time from the start of a test to `end_ns`, both of the monotonic clock; none of a test that has not started, whose start is 0.
pub(super) fn time_since(start_ns: u64, end_ns: u64) -> Duration {
    match start_ns {
        0 => Duration::ZERO,
        start_ns => Duration::from_nanos(end_ns.saturating_sub(start_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_has_not_started_took_no_time() {
        assert_eq!(time_since(0, 500_000_000_000), Duration::ZERO);
        assert_eq!(time_since(5, 12), Duration::from_nanos(7));
    }
}
