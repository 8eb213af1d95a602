//! The search for the rates between which the available bandwidth lies.

use super::fleet::FleetOutcome;
use crate::cannot_tell::CannotTell;
use caudal_core::units::BitRate;

/// Maximum fleets of a search.
const MAX_FLEETS: u32 = 30;
/// Lowest rate tried, relative to the maximum.
const LOWEST: f64 = 0.01;

/// When a search ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchPrecision {
    /// The width of the bracket at which it ends, relative to its upper end.
    pub bracket: f64,
    /// The distance of a grey range from the rates around it at which it ends, relative to those.
    pub grey: f64,
}

impl Default for SearchPrecision {
    /// A bracket of 5 %, and 5 % to either side of a grey range, as pathload's where gaps are uncertain.
    fn default() -> Self {
        Self {
            bracket: 0.05,
            grey: 0.05,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AvailableBandwidth {
    /// The highest rate that was below it; zero when none was.
    pub low: BitRate,
    /// The lowest rate that was above it; `None` when none was: the available bandwidth is at least `low`.
    pub high: Option<BitRate>,
    /// The lowest and the highest rate at which streams disagreed: the range over which it varied.
    pub grey: Option<(BitRate, BitRate)>,
    /// The fleets that were sent.
    pub fleets: u32,
    /// `true` when the search ended for the number of its fleets, not for the width of its bracket.
    pub unfinished: bool,
}

/// A search in progress: it asks for a rate and takes the outcome of the fleet at that rate.
#[derive(Debug, Clone)]
pub struct RateSearch {
    precision: SearchPrecision,
    max: f64,
    low: f64,
    high: Option<f64>,
    grey: Option<(f64, f64)>,
    fleets: u32,
    next: Option<f64>,
    unfinished: bool,
}

impl RateSearch {
    /// A search up to `max`, the capacity or a little more, that begins at `start`, best the rate at which a train arrives.
    ///
    /// # Errors
    /// When a rate is zero.
    pub fn new(
        start: BitRate,
        max: BitRate,
        precision: SearchPrecision,
    ) -> Result<Self, CannotTell> {
        if start == BitRate::ZERO || max == BitRate::ZERO {
            return Err(CannotTell::Implausible("a search takes rates above zero"));
        }
        Ok(Self {
            precision,
            max: max.as_f64(),
            low: 0.0,
            high: None,
            grey: None,
            fleets: 0,
            next: Some(start.min(max).as_f64()),
            unfinished: false,
        })
    }

    /// The rate of the next fleet; `None` when the search is over.
    #[must_use]
    pub fn next_rate(&self) -> Option<BitRate> {
        self.next.and_then(BitRate::from_f64)
    }

    /// Takes the outcome of the fleet at [`next_rate`](Self::next_rate). Without effect when the search is over.
    pub fn record(&mut self, outcome: FleetOutcome) {
        let Some(rate) = self.next else { return };
        self.fleets += 1;
        match outcome {
            FleetOutcome::Above => self.high = Some(rate),
            FleetOutcome::Below => self.low = rate,
            FleetOutcome::Grey => {
                let (low, high) = self.grey.unwrap_or((rate, rate));
                self.grey = Some((low.min(rate), high.max(rate)));
            }
        }
        self.drop_contradicted();
        self.next = self.choose();
        if self.next.is_some() && self.fleets >= MAX_FLEETS {
            self.next = None;
            self.unfinished = true;
        }
    }

    /// A grey range has to lie between the rates around it.
    fn drop_contradicted(&mut self) {
        let Some((low, high)) = self.grey else { return };
        let low = low.max(self.low);
        let high = high.min(self.high.unwrap_or(f64::INFINITY));
        let between = low > self.low || high < self.high.unwrap_or(f64::INFINITY);
        self.grey = (between && low <= high).then_some((low, high));
    }

    fn choose(&self) -> Option<f64> {
        let top = self.high.unwrap_or(self.max);
        let Some((grey_low, grey_high)) = self.grey else {
            if self.high.is_none() {
                // Nothing was above: the maximum itself is the last to try.
                let next = (self.low * 2.0).min(self.max);
                return (self.low < self.max).then_some(next);
            }
            let wide = top - self.low > self.precision.bracket * top && top > LOWEST * self.max;
            return wide.then(|| f64::midpoint(self.low, top));
        };
        let above = match self.high {
            Some(high) if high - grey_high > self.precision.grey * high => {
                Some(f64::midpoint(grey_high, high))
            }
            None if grey_high < self.max => Some((grey_high * 2.0).min(self.max)),
            _ => None,
        };
        let below = (grey_low - self.low > self.precision.grey * grey_low
            && grey_low > LOWEST * self.max)
            .then(|| f64::midpoint(self.low, grey_low));
        // The side that is further from the grey range first.
        match (above, below) {
            (Some(above), Some(below)) if above - grey_high < grey_low - below => Some(below),
            (Some(above), _) => Some(above),
            (None, below) => below,
        }
    }

    /// What the search has found so far.
    ///
    /// # Errors
    /// When no fleet has been sent.
    pub fn outcome(&self) -> Result<AvailableBandwidth, CannotTell> {
        if self.fleets == 0 {
            return Err(CannotTell::NoReadings);
        }
        let rate = |bps: f64| {
            BitRate::from_f64(bps).ok_or(CannotTell::Implausible("a rate is out of range"))
        };
        Ok(AvailableBandwidth {
            low: rate(self.low)?,
            high: self.high.map(rate).transpose()?,
            grey: match self.grey {
                Some((low, high)) => Some((rate(low)?, rate(high)?)),
                None => None,
            },
            fleets: self.fleets,
            unfinished: self.unfinished,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(mbps: f64) -> BitRate {
        BitRate::from_f64(mbps * 1e6).unwrap()
    }

    /// The outcome of a search with these rates (Mbit/s) as the ends of the grey range.
    fn search(start: f64, max: f64, grey: (f64, f64)) -> AvailableBandwidth {
        let mut search =
            RateSearch::new(mbps(start), mbps(max), SearchPrecision::default()).unwrap();
        while let Some(rate) = search.next_rate() {
            search.record(if rate < mbps(grey.0) {
                FleetOutcome::Below
            } else if rate > mbps(grey.1) {
                FleetOutcome::Above
            } else {
                FleetOutcome::Grey
            });
        }
        search.outcome().unwrap()
    }

    #[test]
    fn the_bracket_closes_around_a_sharp_value_from_any_start() {
        for start in [0.5, 5.0, 9.9, 20.0] {
            for truth in [0.71, 3.03, 5.93, 9.51] {
                let found = search(start, 10.0, (truth, truth));
                let high = found.high.unwrap();
                assert!(
                    found.low <= mbps(truth) && mbps(truth) <= high,
                    "{start} {truth}: {found:?}"
                );
                assert!(high.as_f64() - found.low.as_f64() <= 0.05 * high.as_f64() + 1.0);
                assert!(!found.unfinished && found.fleets <= 12, "{found:?}");
            }
        }
    }

    #[test]
    fn a_grey_range_is_enclosed() {
        let found = search(8.0, 10.0, (5.0, 7.0));
        let (low, high) = found.grey.unwrap();
        assert!(low >= mbps(5.0) && high <= mbps(7.0), "{found:?}");
        assert!(
            found.low < mbps(5.0) && found.high.unwrap() > mbps(7.0),
            "{found:?}"
        );
        assert!(found.low > mbps(4.5) && found.high.unwrap() < mbps(7.7));
    }

    #[test]
    fn a_path_that_carries_all_has_no_upper_end_and_one_that_carries_nothing_no_lower() {
        let all = search(1.0, 10.0, (20.0, 20.0));
        assert_eq!((all.low, all.high), (mbps(10.0), None));
        let nothing = search(1.0, 10.0, (0.0, 0.0));
        assert_eq!(nothing.low, BitRate::ZERO);
        assert!(nothing.high.unwrap() <= mbps(0.1));
    }

    #[test]
    fn every_sequence_of_outcomes_ends_with_ordered_rates() {
        let outcomes = [FleetOutcome::Above, FleetOutcome::Below, FleetOutcome::Grey];
        for code in 0..3_u32.pow(8) {
            let mut search =
                RateSearch::new(mbps(4.0), mbps(10.0), SearchPrecision::default()).unwrap();
            let mut digits = code;
            let mut fleets = 0;
            while let Some(rate) = search.next_rate() {
                assert!(rate > BitRate::ZERO && rate <= mbps(10.0));
                search.record(outcomes[(digits % 3) as usize]);
                digits /= 3;
                fleets += 1;
                assert!(fleets <= MAX_FLEETS);
            }
            let found = search.outcome().unwrap();
            let high = found.high.unwrap_or(mbps(10.0));
            assert!(found.low <= high, "{found:?}");
            if let Some((low, top)) = found.grey {
                assert!(
                    found.low <= low && low <= top && top <= high,
                    "{code}: {found:?}"
                );
            }
        }
    }
}
