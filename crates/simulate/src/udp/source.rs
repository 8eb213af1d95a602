//! UDP sources.

use std::time::Duration;

use caudal_link::random::Rng;
use caudal_link::time::{SimTime, duration_to_ns};

use crate::scenario::Pattern;

const NS_PER_SECOND: f64 = 1e9;

/// Schedules the departures of datagrams.
#[derive(Debug)]
pub(crate) struct DatagramSource {
    pattern: Pattern,
    payload: u32,
    rng: Rng,
    /// The start of the current constant-rate period, and the number of departures since.
    period_start: SimTime,
    departures: u64,
    /// The end of the current on period of an on-off source.
    on_until: SimTime,
    next: Option<SimTime>,
    /// The number of datagrams sent.
    pub(crate) sent: u64,
}

impl DatagramSource {
    pub(crate) fn new(pattern: Pattern, payload: u32, rng: Rng) -> Self {
        Self {
            pattern,
            payload,
            rng,
            period_start: SimTime::START,
            departures: 0,
            on_until: SimTime::START,
            next: None,
            sent: 0,
        }
    }

    pub(crate) fn start(&mut self, now: SimTime) {
        self.period_start = now;
        self.next = Some(now);
        if let Pattern::OnOff { on, .. } = self.pattern {
            self.on_until = now.plus_ns(self.exponential_ns(on));
        }
    }

    pub(crate) const fn stop(&mut self) {
        self.next = None;
    }

    pub(crate) const fn deadline(&self) -> Option<SimTime> {
        self.next
    }

    /// An exponential time of this mean in nanoseconds.
    fn exponential_ns(&mut self, mean: Duration) -> u64 {
        // The conversion saturates.
        (self.rng.exponential() * duration_to_ns(mean) as f64) as u64
    }

    /// The number of the datagram that departs at `now`, if one does.
    pub(crate) fn depart(&mut self, now: SimTime) -> Option<u64> {
        self.next.filter(|next| *next <= now)?;
        let number = self.sent;
        self.sent += 1;
        self.next = Some(self.departure_after(now));
        Some(number)
    }

    fn departure_after(&mut self, now: SimTime) -> SimTime {
        let bits = f64::from(self.payload) * 8.0;
        match self.pattern {
            Pattern::Constant(rate) => self.constant_rate_departure(rate.bps()),
            Pattern::Poisson(rate) => {
                let mean_gap_ns = bits / rate.as_f64() * NS_PER_SECOND;
                now.plus_ns((self.rng.exponential() * mean_gap_ns) as u64)
            }
            Pattern::OnOff { rate, on, off } => {
                let next = self.constant_rate_departure(rate.bps());
                if next <= self.on_until {
                    return next;
                }
                let off_ns = self.exponential_ns(off);
                self.period_start = self.on_until.max(now).plus_ns(off_ns);
                self.departures = 0;
                self.on_until = self.period_start.plus_ns(self.exponential_ns(on));
                self.period_start
            }
        }
    }

    /// The next departure at constant rate, without accumulating rounding errors.
    fn constant_rate_departure(&mut self, bps: u64) -> SimTime {
        self.departures += 1;
        let bit_ns = u128::from(self.departures) * u128::from(self.payload) * 8 * 1_000_000_000;
        let ns = bit_ns / u128::from(bps.max(1));
        self.period_start
            .plus_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::units::BitRate;

    fn departures(pattern: Pattern, count: usize) -> Vec<u64> {
        let mut source = DatagramSource::new(pattern, 1000, Rng::new(1, 0));
        source.start(SimTime::from_ns(50));
        let mut all = Vec::new();
        while all.len() < count {
            let now = source.deadline().unwrap();
            source.depart(now).unwrap();
            all.push(now.as_ns());
        }
        all
    }

    #[test]
    fn constant_rate_departures_do_not_accumulate_rounding_errors() {
        let all = departures(Pattern::Constant(BitRate::from_bps(3_000_000)), 3001);
        assert_eq!((all[0], all[1], all[3000]), (50, 2_666_716, 8_000_000_050));
    }

    #[test]
    fn a_poisson_source_has_its_mean_and_an_equal_standard_deviation() {
        let all = departures(Pattern::Poisson(BitRate::from_bps(8_000_000)), 20_001);
        let gaps: Vec<f64> = all.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Four standard errors of a mean of 20 000 exponential gaps of 1 ms.
        assert!((mean / 1e6 - 1.0).abs() < 4.0 / 20_000_f64.sqrt(), "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05);
    }

    #[test]
    fn an_on_off_source_that_is_off_half_the_time_sends_half_as_much() {
        let half = Duration::from_millis(50);
        let rate = BitRate::from_bps(8_000_000);
        let all = departures(
            Pattern::OnOff {
                rate,
                on: half,
                off: half,
            },
            20_000,
        );
        let mean = (all[19_999] - all[0]) as f64 / 20_000.0;
        assert!((1.7e6..2.3e6).contains(&mean), "{mean}");
    }
}
