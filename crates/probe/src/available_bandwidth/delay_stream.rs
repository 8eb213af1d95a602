//! The trend of the one-way delays of one stream.

use crate::cannot_tell::CannotTell;
use caudal_stats::midpoint_median;

/// Minimum number of packets of a stream.
const MIN_PACKETS: usize = 20;
/// Share of lost packets above which the rate is too high.
const MAX_LOSS: f64 = 0.15;
/// Share of lost packets above which a stream counts as half lost.
const MODERATE_LOSS: f64 = 0.03;
/// The pairwise comparison test: 0.55, and 10 % to either side.
const PCT_INCREASING: f64 = 0.605;
const PCT_NOT_INCREASING: f64 = 0.495;
/// The pairwise difference test: 0.4, and 10 % to either side.
const PDT_INCREASING: f64 = 0.44;
const PDT_NOT_INCREASING: f64 = 0.36;
/// Minimum growth of delays over a stream, relative to its duration, for a trend. Hosts alone add some tens of microseconds at either end;
/// a rate that exceeds the available bandwidth by this share adds as much.
const MIN_GROWTH: f64 = 0.01;

/// One stream of packets at a constant rate.
#[derive(Debug, Clone, PartialEq)]
pub struct DelayStream {
    /// The packets sent.
    pub sent: u32,
    /// The time from one to the next, ns.
    pub spacing_ns: u64,
    /// The one-way delays of those that arrived, in the order sent, ns.
    ///
    /// They may contain the offset between the clocks; over the length of a stream, drift does not show.
    pub delays_ns: Vec<i64>,
}

/// Whether the delays of a stream grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DelayTrend {
    /// They grow, or packets are lost: the rate is above the available bandwidth.
    Increasing,
    /// They do not.
    NotIncreasing,
    /// The two statistics contradict each other, or neither decides.
    Unclear,
}

/// The statistics of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrendStatistics {
    /// The part of the steps between medians of groups that rise, from 0 to 1: about 0.5 without a trend.
    pub pct: f64,
    /// The difference of the last and the first median over the sum of all steps, from -1 to 1: about 0 without a trend.
    pub pdt: f64,
    /// The difference of the last and the first median over the time of the stream.
    pub growth: f64,
    /// The part of the packets lost, from 0 to 1.
    pub loss: f64,
}

impl DelayStream {
    /// The statistics: the delays are cut into √n groups, and their medians compared.
    ///
    /// Of equal neighbours no step rises. The comparison divides by the number of steps; pathload divides by that of the groups.
    ///
    /// # Errors
    /// When fewer than 20 packets were sent, or so few arrived that nothing but the loss is known, or more arrived than were sent.
    pub fn statistics(&self) -> Result<TrendStatistics, CannotTell> {
        let arrived = self.delays_ns.len();
        if (self.sent as usize) < MIN_PACKETS {
            return Err(CannotTell::TooFew {
                what: "packets of a stream",
                have: u64::from(self.sent),
                need: MIN_PACKETS as u64,
            });
        }
        if arrived > self.sent as usize {
            return Err(CannotTell::Implausible(
                "more packets arrived than were sent",
            ));
        }
        let loss = 1.0 - arrived as f64 / f64::from(self.sent);
        let medians = self.group_medians();
        let steps: Vec<f64> = medians.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let total: f64 = steps.iter().map(|step| step.abs()).sum();
        if steps.is_empty() || total <= 0.0 {
            return Ok(TrendStatistics {
                pct: 0.0,
                pdt: 0.0,
                growth: 0.0,
                loss,
            });
        }
        let time_ns = (self.spacing_ns * u64::from(self.sent)).max(1) as f64;
        let difference: f64 = steps.iter().sum();
        let rising = steps.iter().filter(|step| **step > 0.0).count();
        Ok(TrendStatistics {
            pct: rising as f64 / steps.len() as f64,
            pdt: difference / total,
            growth: difference / time_ns,
            loss,
        })
    }

    fn group_medians(&self) -> Vec<f64> {
        let Some(least) = self.delays_ns.iter().min() else {
            return Vec::new();
        };
        let group = self.delays_ns.len().isqrt().max(1);
        let above = |delay: &i64| (i128::from(*delay) - i128::from(*least)) as f64;
        let groups = self.delays_ns.chunks_exact(group);
        groups
            .filter_map(|group| midpoint_median(group.iter().map(above).collect()))
            .collect()
    }
}

impl TrendStatistics {
    /// The trend: what both tests say, or what one says while the other is undecided. Loss of 15 % is a rate too high, and delays that grow
    /// by less than a hundredth of the stream's time do not grow.
    #[must_use]
    pub fn trend(&self) -> DelayTrend {
        if self.loss >= MAX_LOSS {
            return DelayTrend::Increasing;
        }
        if self.growth < MIN_GROWTH {
            return DelayTrend::NotIncreasing;
        }
        let vote = |value: f64, increasing: f64, not: f64| {
            if value > increasing {
                DelayTrend::Increasing
            } else if value < not {
                DelayTrend::NotIncreasing
            } else {
                DelayTrend::Unclear
            }
        };
        let pct = vote(self.pct, PCT_INCREASING, PCT_NOT_INCREASING);
        let pdt = vote(self.pdt, PDT_INCREASING, PDT_NOT_INCREASING);
        match (pct, pdt) {
            (one, other) if one == other => one,
            (one, DelayTrend::Unclear) => one,
            (DelayTrend::Unclear, other) => other,
            _ => DelayTrend::Unclear,
        }
    }

    /// `true` when 3 % or more of the packets were lost.
    #[must_use]
    pub fn has_moderate_loss(&self) -> bool {
        self.loss >= MODERATE_LOSS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(delay: impl Fn(i64) -> i64) -> DelayStream {
        DelayStream {
            sent: 100,
            spacing_ns: 1000,
            delays_ns: (0..100).map(delay).collect(),
        }
    }

    #[test]
    fn growing_delays_increase_and_others_do_not() {
        let trend = |stream: DelayStream| stream.statistics().unwrap().trend();
        // With an offset between the clocks of either sign, and noise far above a step.
        let noise = |nth: i64| (nth * 7919) % 101;
        assert_eq!(
            trend(stream(|nth| -5_000_000 + 20 * nth + noise(nth))),
            DelayTrend::Increasing
        );
        assert_eq!(
            trend(stream(|nth| 5_000_000 - 10 * nth)),
            DelayTrend::NotIncreasing
        );
        assert_eq!(trend(stream(|_| 7)), DelayTrend::NotIncreasing);
        assert_eq!(
            trend(stream(|nth| if nth % 20 < 10 { 0 } else { 1000 })),
            DelayTrend::NotIncreasing
        );
    }

    #[test]
    fn a_few_microseconds_over_a_stream_of_a_hundred_milliseconds_are_no_trend() {
        let growing = |step| DelayStream {
            spacing_ns: 1_000_000,
            ..stream(|nth| nth * step)
        };
        let trend = |step| growing(step).statistics().unwrap().trend();
        assert_eq!(trend(300), DelayTrend::NotIncreasing);
        assert_eq!(trend(20_000), DelayTrend::Increasing);
    }

    #[test]
    fn extreme_delays_give_finite_statistics() {
        let extreme = stream(|nth| if nth % 2 == 0 { i64::MIN } else { i64::MAX });
        let found = extreme.statistics().unwrap();
        assert!((0.0..=1.0).contains(&found.pct) && found.pdt.abs() <= 1.0);
    }

    #[test]
    fn lost_streams_are_too_fast_and_impossible_ones_say_nothing() {
        let lost = DelayStream {
            sent: 100,
            spacing_ns: 1000,
            delays_ns: vec![0; 80],
        };
        let found = lost.statistics().unwrap();
        assert_eq!(found.trend(), DelayTrend::Increasing);
        let none = DelayStream {
            sent: 100,
            spacing_ns: 1000,
            delays_ns: vec![],
        };
        assert_eq!(none.statistics().unwrap().trend(), DelayTrend::Increasing);
        for (sent, arrived) in [(19, 19), (0, 0), (30, 31)] {
            let stream = DelayStream {
                sent,
                spacing_ns: 1000,
                delays_ns: vec![0; arrived],
            };
            assert!(stream.statistics().is_err());
        }
    }
}
