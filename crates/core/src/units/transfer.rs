//! Amounts over a time as rates, and rates over a time as amounts.

use super::bit_rate::BitRate;
use super::byte_count::ByteCount;
use super::duration::NANOS_PER_SECOND;
use std::time::Duration;

impl BitRate {
    /// The whole bytes this rate carries in `elapsed`, at most `u64::MAX`.
    #[must_use]
    pub fn during(self, elapsed: Duration) -> ByteCount {
        let whole = u128::from(self.bps()) * u128::from(elapsed.as_secs()) / 8;
        // The remainder of the division by 8 and the fraction of a second, in bit-nanoseconds.
        let rest_bits = u128::from(self.bps()) * u128::from(elapsed.as_secs()) % 8;
        let rest = rest_bits * NANOS_PER_SECOND
            + u128::from(self.bps()) * u128::from(elapsed.subsec_nanos());
        ByteCount::new(saturate(whole + rest / (8 * NANOS_PER_SECOND)))
    }
}

impl ByteCount {
    /// The rate at which this much was transferred in `elapsed`, to the nearest bit per second; `None` when no time passed.
    #[must_use]
    pub fn per(self, elapsed: Duration) -> Option<BitRate> {
        let nanos = elapsed.as_nanos();
        let bit_nanos = u128::from(self.get()) * 8 * NANOS_PER_SECOND;
        (nanos > 0).then(|| BitRate::from_bps(saturate((bit_nanos + nanos / 2) / nanos)))
    }
}

fn saturate(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_over_a_time_is_an_amount() {
        let rate = BitRate::from_bps(100_000_000);
        assert_eq!(
            rate.during(Duration::from_millis(500)),
            ByteCount::new(6_250_000)
        );
        assert_eq!(
            BitRate::from_bps(u64::MAX).during(Duration::MAX),
            ByteCount::new(u64::MAX)
        );
        assert_eq!(
            BitRate::from_bps(3).during(Duration::from_secs(3)),
            ByteCount::new(1)
        );
    }

    #[test]
    fn an_amount_over_a_time_is_a_rate() {
        let megabytes = ByteCount::new(12_500_000);
        assert_eq!(
            megabytes.per(Duration::from_secs(1)),
            Some(BitRate::from_bps(100_000_000))
        );
        assert_eq!(megabytes.per(Duration::ZERO), None);
        assert_eq!(
            ByteCount::new(u64::MAX).per(Duration::from_nanos(1)),
            Some(BitRate::from_bps(u64::MAX))
        );
    }
}
