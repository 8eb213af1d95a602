//! Rates, constant or changing over time, and the exact times at which bits are sent.

use std::time::Duration;

use caudal_core::units::BitRate;

use crate::error::LinkError;
use crate::time::{SimTime, duration_to_ns};

/// Work is counted in billionths of a bit, so that a rate times nanoseconds is work.
const WORK_PER_BIT: u64 = 1_000_000_000;
/// Maximum rate: 1 Pbit/s.
const MAX_RATE: BitRate = BitRate::from_bps(1_000_000_000_000_000);

/// The continuation of a trace after its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceEnd {
    /// The last rate stays.
    Hold,
    /// The trace repeats with this period.
    Repeat(Duration),
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace {
    /// Start times in nanoseconds and rates in bits per second; the first starts at 0.
    steps: Vec<(u64, u64)>,
    /// The period in nanoseconds and the work done in it.
    cycle: Option<(u64, u128)>,
}

impl RateTrace {
    /// A constant rate.
    ///
    /// # Errors
    /// For a rate of zero or above 1 Pbit/s.
    pub fn constant(rate: BitRate) -> Result<Self, LinkError> {
        Self::steps(&[(Duration::ZERO, rate)], TraceEnd::Hold)
    }

    /// Rates with the times after the start at which they begin. A rate of zero is an outage.
    ///
    /// # Errors
    /// When the times do not start at zero and increase, a rate is above 1 Pbit/s, or an outage never ends.
    pub fn steps(steps: &[(Duration, BitRate)], after: TraceEnd) -> Result<Self, LinkError> {
        let mut checked: Vec<(u64, u64)> = Vec::with_capacity(steps.len());
        for (index, (from, rate)) in steps.iter().enumerate() {
            let from = duration_to_ns(*from);
            let increases = checked
                .last()
                .map_or(from == 0, |(previous, _)| from > *previous);
            if !increases {
                return Err(LinkError::TraceOutOfOrder(index));
            }
            if *rate > MAX_RATE {
                return Err(LinkError::RateTooHigh(*rate));
            }
            checked.push((from, rate.bps()));
        }
        let (last_from, last_rate) = *checked.last().ok_or(LinkError::TraceOutOfOrder(0))?;
        let cycle = match after {
            TraceEnd::Hold if last_rate == 0 => return Err(LinkError::ZeroRate(BitRate::ZERO)),
            TraceEnd::Hold => None,
            TraceEnd::Repeat(period) => {
                let period = duration_to_ns(period);
                if period <= last_from {
                    return Err(LinkError::TraceOutOfOrder(checked.len()));
                }
                let ends = checked
                    .iter()
                    .skip(1)
                    .map(|(from, _)| *from)
                    .chain([period]);
                let work = checked
                    .iter()
                    .zip(ends)
                    .map(|((from, rate), end)| u128::from(end - from) * u128::from(*rate))
                    .sum();
                if work == 0 {
                    return Err(LinkError::ZeroRate(BitRate::ZERO));
                }
                Some((period, work))
            }
        };
        Ok(Self {
            steps: checked,
            cycle,
        })
    }

    /// The rate at `now`.
    #[must_use]
    pub fn rate_at(&self, now: SimTime) -> BitRate {
        BitRate::from_bps(self.step_at(now.as_ns()).0)
    }

    /// The rate at `ns` and the time of its next change.
    fn step_at(&self, ns: u64) -> (u64, Option<u64>) {
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

    /// The time at which the last of `bits` is sent when the first is sent at `from`.
    pub(crate) fn finish(&self, from: ExactTime, bits: u64) -> ExactTime {
        if let [(_, rate)] = self.steps[..]
            && self.cycle.is_none()
        {
            let from = from.at_rate(rate);
            if let Some(work) = bits
                .checked_mul(WORK_PER_BIT)
                .and_then(|work| work.checked_add(from.part))
            {
                return ExactTime {
                    ns: from.ns.saturating_add(work / rate),
                    part: work % rate,
                    rate,
                };
            }
        }
        self.finish_stepwise(from, bits)
    }

    fn finish_stepwise(&self, from: ExactTime, bits: u64) -> ExactTime {
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
                return ExactTime::from(SimTime::MAX);
            }
            let (rate, until) = self.step_at(at.ns);
            at = at.at_rate(rate);
            if let Some(until) = until {
                let room = u128::from(until.saturating_sub(at.ns)) * u128::from(rate);
                let room = room.saturating_sub(u128::from(at.part));
                if rate == 0 || work > room {
                    work -= room;
                    at = ExactTime::from(SimTime::from_ns(until.max(at.ns)));
                    continue;
                }
            }
            let total = work + u128::from(at.part);
            return ExactTime {
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

/// A time with a fraction of a nanosecond: `ns` + `part` / `rate`.
///
/// The fraction avoids accumulating rounding errors: thousands of frames take as long as one of their total length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExactTime {
    ns: u64,
    part: u64,
    rate: u64,
}

impl From<SimTime> for ExactTime {
    fn from(time: SimTime) -> Self {
        Self {
            ns: time.as_ns(),
            part: 0,
            rate: 1,
        }
    }
}

impl ExactTime {
    /// This time, rounded up to a whole nanosecond.
    pub(crate) const fn ceil(self) -> SimTime {
        SimTime::from_ns(self.ns.saturating_add((self.part > 0) as u64))
    }

    /// The later of this time and `other`.
    pub(crate) fn max(self, other: SimTime) -> Self {
        if self.ceil() >= other {
            self
        } else {
            Self::from(other)
        }
    }

    /// The same time with a fraction in units of `rate`; a fraction of another rate is rounded up.
    const fn at_rate(self, rate: u64) -> Self {
        if self.rate == rate {
            self
        } else {
            Self {
                ns: self.ceil().as_ns(),
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
    fn departures_do_not_accumulate_rounding_errors() {
        // 7 Mbit/s divides nothing evenly: a frame of 1538 bytes takes 1757714.28… ns.
        let trace = RateTrace::constant(BitRate::from_bps(7_000_000)).unwrap();
        let mut at = ExactTime::from(SimTime::START);
        for _ in 0..1_000_000 {
            at = trace.finish(at, 1538 * 8);
        }
        let in_one_piece = 1538_u128 * 8 * 1_000_000 * 1_000_000_000 / 7_000_000;
        assert_eq!(u128::from(at.ns), in_one_piece);
    }

    #[test]
    fn sending_continues_across_rate_changes_and_outages() {
        let trace = RateTrace::steps(
            &[
                (seconds(0), BitRate::from_bps(1000)),
                (seconds(1), BitRate::ZERO),
                (seconds(5), BitRate::from_bps(500)),
            ],
            TraceEnd::Hold,
        )
        .unwrap();
        let done = |bits| {
            trace
                .finish(ExactTime::from(SimTime::START), bits)
                .ceil()
                .as_ns()
                / 1_000_000
        };
        assert_eq!([1000, 1001, 1500, 2000].map(done), [1000, 5002, 6000, 7000]);
    }

    #[test]
    fn a_repeating_trace_skips_many_periods_in_one_step() {
        let trace = RateTrace::steps(
            &[
                (seconds(0), BitRate::from_bps(1)),
                (seconds(1), BitRate::ZERO),
            ],
            TraceEnd::Repeat(seconds(2)),
        )
        .unwrap();
        let done = trace.finish(ExactTime::from(SimTime::START), 1_000_000);
        assert_eq!(done.ceil(), SimTime::START + seconds(2 * 1_000_000 - 1));
    }

    #[test]
    fn traces_that_never_deliver_are_refused() {
        let steps = |steps: &[(u64, u64)], after| {
            let steps: Vec<_> = steps
                .iter()
                .map(|(from, bps)| (seconds(*from), BitRate::from_bps(*bps)))
                .collect();
            RateTrace::steps(&steps, after).is_ok()
        };
        assert!(!steps(&[], TraceEnd::Hold));
        assert!(!steps(&[(0, 0)], TraceEnd::Hold));
        assert!(!steps(&[(1, 1)], TraceEnd::Hold));
        assert!(!steps(&[(0, 1), (0, 2)], TraceEnd::Hold));
        assert!(!steps(&[(0, u64::MAX)], TraceEnd::Hold));
        assert!(!steps(&[(0, 0)], TraceEnd::Repeat(seconds(1))));
        assert!(!steps(&[(0, 1), (2, 1)], TraceEnd::Repeat(seconds(2))));
        assert!(steps(&[(0, 1), (2, 0)], TraceEnd::Repeat(seconds(3))));
    }

    proptest! {
        #[test]
        fn many_small_pieces_take_as_long_as_one_large_piece(
            rates in prop::collection::vec(0_u64..10_000_000_000, 1..5),
            bits in prop::collection::vec(1_u64..20_000, 1..20),
        ) {
            // Rates that divide a second evenly at each step leave no fraction of a nanosecond.
            let rates: Vec<u64> = rates.iter().map(|rate| 1_000_000_000 / (rate % 1000 + 1) * (rate % 1000 + 1)).collect();
            let steps: Vec<_> = rates
                .iter()
                .enumerate()
                .map(|(index, bps)| (Duration::from_micros(index as u64 * 50), BitRate::from_bps(*bps)))
                .collect();
            let trace = RateTrace::steps(&steps, TraceEnd::Repeat(Duration::from_millis(1))).unwrap();
            let start = ExactTime::from(SimTime::START);
            let piecewise = bits.iter().fold(start, |at, bits| trace.finish(at, *bits));
            let at_once = trace.finish(start, bits.iter().sum());
            prop_assert!(piecewise.ceil().as_ns().abs_diff(at_once.ceil().as_ns()) <= bits.len() as u64);
        }
    }
}
