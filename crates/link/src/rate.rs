//! A rate, constant or changing over time, and the exact moments at which bits are through.

use std::time::Duration;

use caudal_core::units::BitRate;

use crate::error::LinkError;
use crate::moment::{Moment, whole_ns};

/// Work is counted in billionths of a bit, so that a rate times nanoseconds is work.
const WORK_PER_BIT: u64 = 1_000_000_000;
/// The highest rate: 1 Pbit/s.
const HIGHEST: BitRate = BitRate::from_bps(1_000_000_000_000_000);

/// What follows the last step of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The last rate stays.
    Hold,
    /// The trace starts again after this long.
    Repeat(Duration),
}

/// How many bits a second pass, now and later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    /// From when after the start which rate holds; the first from 0.
    steps: Vec<(u64, u64)>,
    /// Length of the cycle and the work done in it.
    cycle: Option<(u64, u128)>,
}

impl RateTrace {
    /// The same rate always.
    ///
    /// # Errors
    /// For a rate of zero or above 1 Pbit/s.
    pub fn constant(rate: BitRate) -> Result<Self, LinkError> {
        Self::steps(&[(Duration::ZERO, rate)], After::Hold)
    }

    /// Each rate from its time after the start on. A rate of zero is an outage.
    ///
    /// # Errors
    /// When the times do not begin at zero and grow, a rate is above 1 Pbit/s, or an outage never ends.
    pub fn steps(steps: &[(Duration, BitRate)], after: After) -> Result<Self, LinkError> {
        let mut kept: Vec<(u64, u64)> = Vec::with_capacity(steps.len());
        for (index, (from, rate)) in steps.iter().enumerate() {
            let from = whole_ns(*from);
            let grows = kept.last().map_or(from == 0, |(before, _)| from > *before);
            if !grows {
                return Err(LinkError::TraceOutOfOrder(index));
            }
            if *rate > HIGHEST {
                return Err(LinkError::RateTooHigh(*rate));
            }
            kept.push((from, rate.bps()));
        }
        let (last_from, last_rate) = *kept.last().ok_or(LinkError::TraceOutOfOrder(0))?;
        let cycle = match after {
            After::Hold if last_rate == 0 => return Err(LinkError::NoRate(BitRate::ZERO)),
            After::Hold => None,
            After::Repeat(period) => {
                let period = whole_ns(period);
                if period <= last_from {
                    return Err(LinkError::TraceOutOfOrder(kept.len()));
                }
                let ends = kept.iter().skip(1).map(|(from, _)| *from).chain([period]);
                let work = kept
                    .iter()
                    .zip(ends)
                    .map(|((from, rate), end)| u128::from(end - from) * u128::from(*rate))
                    .sum();
                if work == 0 {
                    return Err(LinkError::NoRate(BitRate::ZERO));
                }
                Some((period, work))
            }
        };
        Ok(Self { steps: kept, cycle })
    }

    /// The rate at `now`.
    #[must_use]
    pub fn at(&self, now: Moment) -> BitRate {
        BitRate::from_bps(self.piece(now.ns()).0)
    }

    /// The rate at `ns` and when it next changes.
    fn piece(&self, ns: u64) -> (u64, Option<u64>) {
        let offset = self.cycle.map_or(ns, |(period, _)| ns % period);
        let next = self.steps.partition_point(|(from, _)| *from <= offset);
        let until = match self.steps.get(next) {
            Some((from, _)) => Some(*from),
            None => self.cycle.map(|(period, _)| period),
        };
        // The first step begins at zero, so there is one before `next`.
        let rate = self.steps[next - 1].1;
        (rate, until.map(|until| ns.saturating_add(until - offset)))
    }

    /// When `bits` that begin at `from` are through.
    pub(crate) fn finish(&self, from: Exact, bits: u64) -> Exact {
        if let [(_, rate)] = self.steps[..]
            && self.cycle.is_none()
        {
            let from = from.at_rate(rate);
            if let Some(work) = bits
                .checked_mul(WORK_PER_BIT)
                .and_then(|work| work.checked_add(from.part))
            {
                return Exact {
                    ns: from.ns.saturating_add(work / rate),
                    part: work % rate,
                    rate,
                };
            }
        }
        self.finish_stepwise(from, bits)
    }

    fn finish_stepwise(&self, from: Exact, bits: u64) -> Exact {
        let mut work = u128::from(bits) * u128::from(WORK_PER_BIT);
        let mut at = from;
        loop {
            if let Some((period, in_cycle)) = self.cycle
                && at.part == 0
            {
                let whole = work.saturating_sub(1) / in_cycle;
                work -= whole * in_cycle;
                let passed = u128::from(period).saturating_mul(whole);
                at.ns = saturate(u128::from(at.ns).saturating_add(passed));
            }
            if at.ns == u64::MAX {
                return Exact::whole(Moment::from_ns(u64::MAX));
            }
            let (rate, until) = self.piece(at.ns);
            at = at.at_rate(rate);
            if let Some(until) = until {
                let room = u128::from(until.saturating_sub(at.ns)) * u128::from(rate);
                let room = room.saturating_sub(u128::from(at.part));
                if rate == 0 || work > room {
                    work -= room;
                    at = Exact::whole(Moment::from_ns(until.max(at.ns)));
                    continue;
                }
            }
            let total = work + u128::from(at.part);
            return Exact {
                ns: saturate(u128::from(at.ns) + total / u128::from(rate)),
                // Below the rate, which is a u64.
                part: (total % u128::from(rate)) as u64,
                rate,
            };
        }
    }
}

fn saturate(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// A moment with the part of a nanosecond that a division left: `ns` + `part` / `rate`.
///
/// Kept so that thousands of frames end where one of their length would, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exact {
    ns: u64,
    part: u64,
    rate: u64,
}

impl Exact {
    pub(crate) const fn whole(moment: Moment) -> Self {
        Self {
            ns: moment.ns(),
            part: 0,
            rate: 1,
        }
    }

    /// The first whole nanosecond that is not before this.
    pub(crate) const fn ceil(self) -> Moment {
        Moment::from_ns(self.ns.saturating_add((self.part > 0) as u64))
    }

    /// This, or `moment` when that is later.
    pub(crate) fn max(self, moment: Moment) -> Self {
        if self.ceil() >= moment {
            self
        } else {
            Self::whole(moment)
        }
    }

    /// The same moment reckoned at `rate`; a part of a nanosecond from another rate becomes a whole one.
    const fn at_rate(self, rate: u64) -> Self {
        if self.rate == rate {
            self
        } else {
            let moment = self.ceil();
            Self {
                ns: moment.ns(),
                part: 0,
                rate,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn departures_never_drift() {
        // 7 Mbit/s divides nothing evenly: a frame of 1538 bytes takes 1757714.28… ns.
        let trace = RateTrace::constant(BitRate::from_bps(7_000_000)).unwrap();
        let mut at = Exact::whole(Moment::START);
        for _ in 0..1_000_000 {
            at = trace.finish(at, 1538 * 8);
        }
        let all_at_once = 1538_u128 * 8 * 1_000_000 * 1_000_000_000 / 7_000_000;
        assert_eq!(u128::from(at.ns), all_at_once);
    }

    #[test]
    fn a_frame_is_sent_across_changes_of_rate_and_outages() {
        let trace = RateTrace::steps(
            &[
                (seconds(0), BitRate::from_bps(1000)),
                (seconds(1), BitRate::ZERO),
                (seconds(5), BitRate::from_bps(500)),
            ],
            After::Hold,
        )
        .unwrap();
        let done = |bits| trace.finish(Exact::whole(Moment::START), bits).ceil().ns() / 1_000_000;
        assert_eq!([1000, 1001, 1500, 2000].map(done), [1000, 5002, 6000, 7000]);
    }

    #[test]
    fn a_repeating_trace_takes_many_cycles_in_one_step() {
        let trace = RateTrace::steps(
            &[
                (seconds(0), BitRate::from_bps(1)),
                (seconds(1), BitRate::ZERO),
            ],
            After::Repeat(seconds(2)),
        )
        .unwrap();
        let done = trace.finish(Exact::whole(Moment::START), 1_000_000);
        assert_eq!(done.ceil(), Moment::START + seconds(2 * 1_000_000 - 1));
    }

    #[test]
    fn what_never_delivers_is_refused() {
        let steps = |steps: &[(u64, u64)], after| {
            let steps: Vec<_> = steps
                .iter()
                .map(|(from, bps)| (seconds(*from), BitRate::from_bps(*bps)))
                .collect();
            RateTrace::steps(&steps, after).is_ok()
        };
        assert!(!steps(&[], After::Hold));
        assert!(!steps(&[(0, 0)], After::Hold));
        assert!(!steps(&[(1, 1)], After::Hold));
        assert!(!steps(&[(0, 1), (0, 2)], After::Hold));
        assert!(!steps(&[(0, u64::MAX)], After::Hold));
        assert!(!steps(&[(0, 0)], After::Repeat(seconds(1))));
        assert!(!steps(&[(0, 1), (2, 1)], After::Repeat(seconds(2))));
        assert!(steps(&[(0, 1), (2, 0)], After::Repeat(seconds(3))));
    }

    proptest! {
        #[test]
        fn many_small_pieces_end_where_one_large_does(
            rates in prop::collection::vec(0_u64..10_000_000_000, 1..5),
            bits in prop::collection::vec(1_u64..20_000, 1..20),
        ) {
            // Rates that divide a second evenly at each step leave no part of a nanosecond behind.
            let rates: Vec<u64> = rates.iter().map(|rate| 1_000_000_000 / (rate % 1000 + 1) * (rate % 1000 + 1)).collect();
            let steps: Vec<_> = rates
                .iter()
                .enumerate()
                .map(|(index, bps)| (Duration::from_micros(index as u64 * 50), BitRate::from_bps(*bps)))
                .collect();
            let trace = RateTrace::steps(&steps, After::Repeat(Duration::from_millis(1))).unwrap();
            let start = Exact::whole(Moment::START);
            let piecewise = bits.iter().fold(start, |at, bits| trace.finish(at, *bits));
            let at_once = trace.finish(start, bits.iter().sum());
            prop_assert!(piecewise.ceil().ns().abs_diff(at_once.ceil().ns()) <= bits.len() as u64);
        }
    }
}
