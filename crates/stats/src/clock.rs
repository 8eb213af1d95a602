//! How far the far clock is from ours, and how wrong that may be.

use serde::{Deserialize, Serialize};

/// What one exchange of timestamps says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OffsetAndRtt {
    /// The far clock less ours, in ns.
    pub offset_ns: i64,
    /// The round trip without the time the far side took, in ns; negative when a clock was set meanwhile.
    pub rtt_ns: i64,
}

/// Offset and round trip from four timestamps in ns: sent here, received there, sent there, received here.
///
/// `((t2-t1)+(t3-t4))/2` and `(t4-t1)-(t3-t2)`, saturating. The true offset is within half the round trip, however
/// unequal the two ways. Source: RFC 5905 section 8.
#[must_use]
pub fn offset_and_rtt(t1: i64, t2: i64, t3: i64, t4: i64) -> OffsetAndRtt {
    let [t1, t2, t3, t4] = [t1, t2, t3, t4].map(i128::from);
    OffsetAndRtt {
        offset_ns: saturate(((t2 - t1) + (t3 - t4)).div_euclid(2)),
        rtt_ns: saturate((t4 - t1) - (t3 - t2)),
    }
}

/// The offset of the far clock from many exchanges, of which the quickest third counts.
///
/// It takes the offset for constant: over longer times start anew, as clocks drift by up to 100 µs a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClockEstimate {
    /// The quickest exchanges, by round trip.
    quickest: Vec<OffsetAndRtt>,
    n: u64,
}

impl ClockEstimate {
    /// Exchanges kept; averaging more gains nothing.
    const KEPT: usize = 256;

    /// No exchange yet; all memory is taken here.
    #[must_use]
    pub fn new() -> Self {
        Self {
            quickest: Vec::with_capacity(Self::KEPT + 1),
            n: 0,
        }
    }

    /// Takes in one exchange, timestamps in ns as in [`offset_and_rtt`]; one with a negative round trip is ignored.
    pub fn push(&mut self, t1: i64, t2: i64, t3: i64, t4: i64) {
        let exchange = offset_and_rtt(t1, t2, t3, t4);
        if exchange.rtt_ns < 0 {
            return;
        }
        self.n += 1;
        let place = self
            .quickest
            .partition_point(|kept| kept.rtt_ns <= exchange.rtt_ns);
        if place < Self::KEPT {
            self.quickest.insert(place, exchange);
            self.quickest.truncate(Self::KEPT);
        }
    }

    /// How many exchanges were taken in.
    #[must_use]
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// The far clock less ours in ns, averaged over the third of exchanges with the shortest round trips.
    ///
    /// `None` before the first exchange.
    #[must_use]
    pub fn offset_ns(&self) -> Option<i64> {
        let third = usize::try_from(self.n.div_ceil(3)).unwrap_or(usize::MAX);
        let best = &self.quickest[..third.min(self.quickest.len())];
        if best.is_empty() {
            return None;
        }
        let sum: i128 = best.iter().map(|kept| i128::from(kept.offset_ns)).sum();
        Some(saturate(sum.div_euclid(best.len() as i128)))
    }

    /// The shortest round trip in ns; `None` before the first exchange.
    #[must_use]
    pub fn min_rtt_ns(&self) -> Option<i64> {
        self.quickest.first().map(|kept| kept.rtt_ns)
    }

    /// How far from the truth [`offset_ns`](Self::offset_ns) can be, in ns, however unequal the two ways.
    ///
    /// Half the shortest round trip, and by how much the average strayed from the offset of that exchange. `None` before
    /// the first.
    #[must_use]
    pub fn bound_ns(&self) -> Option<i64> {
        let best = self.quickest.first()?;
        let strayed = i128::from(self.offset_ns()?) - i128::from(best.offset_ns);
        Some(saturate((i128::from(best.rtt_ns) + 1) / 2 + strayed.abs()))
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
    fn one_exchange_is_bound_by_half_its_round_trip() {
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
            // The far clock is 1000 ahead and the way there takes all the delay.
            clock.push(0, 1000 + delay, 1000 + delay, delay);
        }
        assert_eq!(
            (clock.offset_ns(), clock.bound_ns()),
            (Some(1050), Some(50))
        );
        assert_eq!((clock.min_rtt_ns(), clock.n()), (Some(100), 6));
    }

    #[test]
    fn a_clock_set_during_an_exchange_spoils_only_that_exchange() {
        let mut clock = ClockEstimate::new();
        clock.push(0, 0, 1000, 500);
        assert_eq!((clock.n(), clock.offset_ns()), (0, None));
    }

    proptest! {
        #[test]
        fn the_truth_is_always_within_the_bound(offset in -1_000_000_000..1_000_000_000_i64, ways in proptest::collection::vec((0..1_000_000_i64, 0..1_000_000_i64), 1..400)) {
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
