//! The offset between two clocks, with its error bound.

use serde::{Deserialize, Serialize};

/// The offset and round-trip time from one exchange of timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OffsetAndRtt {
    /// The remote clock minus the local clock, in ns.
    pub offset_ns: i64,
    /// The round-trip time without the remote processing time, in ns; negative when a clock was stepped during the exchange.
    pub rtt_ns: i64,
}

/// Computes offset and round-trip time from four timestamps in ns: t1 local send, t2 remote receive, t3 remote send, t4 local receive.
///
/// `((t2-t1)+(t3-t4))/2` and `(t4-t1)-(t3-t2)`, saturating. The true offset is within half the round-trip time of that, however
/// asymmetric the path. Source: RFC 5905 section 8.
#[must_use]
pub fn offset_and_rtt(t1: i64, t2: i64, t3: i64, t4: i64) -> OffsetAndRtt {
    let [t1, t2, t3, t4] = [t1, t2, t3, t4].map(i128::from);
    OffsetAndRtt {
        offset_ns: saturate(((t2 - t1) + (t3 - t4)).div_euclid(2)),
        rtt_ns: saturate((t4 - t1) - (t3 - t2)),
    }
}

/// An estimate of a remote clock's offset from many exchanges, averaged over the third with the shortest round trips.
///
/// It assumes a constant offset; over longer times start a new estimate, since clocks drift by up to 100 µs per second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockEstimate {
    /// The exchanges with the shortest round-trip times, in ascending order.
    shortest: Vec<OffsetAndRtt>,
    n: u64,
}

impl ClockEstimate {
    /// Maximum number of exchanges kept; averaging more gains nothing.
    const MAX_KEPT: usize = 256;

    /// An estimate without exchanges; all memory is allocated here.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shortest: Vec::with_capacity(Self::MAX_KEPT + 1),
            n: 0,
        }
    }

    /// Adds one exchange, with timestamps in ns as in [`offset_and_rtt`]; one with a negative round-trip time is ignored.
    pub fn push(&mut self, t1: i64, t2: i64, t3: i64, t4: i64) {
        let exchange = offset_and_rtt(t1, t2, t3, t4);
        if exchange.rtt_ns < 0 {
            return;
        }
        self.n += 1;
        let position = self
            .shortest
            .partition_point(|kept| kept.rtt_ns <= exchange.rtt_ns);
        if position < Self::MAX_KEPT {
            self.shortest.insert(position, exchange);
            self.shortest.truncate(Self::MAX_KEPT);
        }
    }

    /// The number of exchanges added.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// The remote clock minus the local clock in ns, averaged over the third of exchanges with the shortest round-trip times.
    ///
    /// `None` before the first exchange.
    #[must_use]
    pub fn offset_ns(&self) -> Option<i64> {
        let third = usize::try_from(self.n.div_ceil(3)).unwrap_or(usize::MAX);
        let best = &self.shortest[..third.min(self.shortest.len())];
        if best.is_empty() {
            return None;
        }
        let sum: i128 = best.iter().map(|kept| i128::from(kept.offset_ns)).sum();
        Some(saturate(sum.div_euclid(best.len() as i128)))
    }

    /// The shortest round-trip time in ns; `None` before the first exchange.
    #[must_use]
    pub fn min_rtt_ns(&self) -> Option<i64> {
        self.shortest.first().map(|kept| kept.rtt_ns)
    }

    /// The maximum error of [`offset_ns`](Self::offset_ns), in ns, however asymmetric the path.
    ///
    /// Half the shortest round-trip time plus the deviation of the average from the offset of that exchange. `None` before
    /// the first exchange.
    #[must_use]
    pub fn bound_ns(&self) -> Option<i64> {
        let best = self.shortest.first()?;
        let deviation = i128::from(self.offset_ns()?) - i128::from(best.offset_ns);
        Some(saturate(
            (i128::from(best.rtt_ns) + 1) / 2 + deviation.abs(),
        ))
    }
}

fn saturate(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_timestamps_give_offset_and_round_trip() {
        let found = offset_and_rtt(0, 62_000_000, 62_500_000, 20_500_000);
        assert_eq!(
            found,
            OffsetAndRtt {
                offset_ns: 52_000_000,
                rtt_ns: 20_000_000
            }
        );
    }

    #[test]
    fn the_error_of_one_exchange_is_bounded_by_half_its_round_trip() {
        let mut clock = ClockEstimate::new();
        assert_eq!(
            (clock.offset_ns(), clock.bound_ns(), clock.n()),
            (None, None, 0)
        );
        clock.push(0, 62_000_000, 62_500_000, 20_500_000);
        assert_eq!(clock.offset_ns(), Some(52_000_000));
        assert_eq!(clock.bound_ns(), Some(10_000_000));
    }

    #[test]
    fn slow_exchanges_do_not_count() {
        let mut clock = ClockEstimate::new();
        for delay in [100, 100, 5000, 9000, 7000, 3000] {
            // The remote clock is 1000 ahead and the forward path takes all the delay.
            clock.push(0, 1000 + delay, 1000 + delay, delay);
        }
        assert_eq!(
            (clock.offset_ns(), clock.bound_ns()),
            (Some(1050), Some(50))
        );
        assert_eq!((clock.min_rtt_ns(), clock.n()), (Some(100), 6));
    }

    #[test]
    fn an_exchange_during_which_a_clock_was_stepped_is_ignored() {
        let mut clock = ClockEstimate::new();
        clock.push(0, 0, 1000, 500);
        assert_eq!((clock.n(), clock.offset_ns()), (0, None));
    }

    proptest! {
        #[test]
        fn the_true_offset_is_always_within_the_bound(offset in -1_000_000_000..1_000_000_000_i64, ways in proptest::collection::vec((0..1_000_000_i64, 0..1_000_000_i64), 1..400)) {
            let mut clock = ClockEstimate::new();
            for (at, (there, back)) in (0..).step_by(1_000_000).zip(ways) {
                let received = at + there + offset;
                clock.push(at, received, received + 500, at + there + 500 + back);
            }
            let error = (clock.offset_ns().unwrap() - offset).abs();
            prop_assert!(error <= clock.bound_ns().unwrap() + 1);
        }

        #[test]
        fn no_timestamps_make_it_panic(exchanges: Vec<(i64, i64, i64, i64)>) {
            let mut clock = ClockEstimate::new();
            for (t1, t2, t3, t4) in exchanges {
                clock.push(t1, t2, t3, t4);
            }
            let _ = (clock.offset_ns(), clock.bound_ns());
        }
    }
}
