//! The pattern of a TCP connection's losses over time: a full link, a queue that overflowed in slow start, a policer, or loss at random.
//!
//! A policer drops exactly the packets that a queue of its depth would. Only two things tell them apart: the delay of that queue, and
//! the spacing of what passes (bytes behind a queue arrive at its rate, a policer passes a burst at the speed of the link before it).
//! Random losses come at any rate of the connection, those of either at one rate. What slow start loses by overshooting is left
//! out: only later losses tell. The thresholds were set on connections over emulated paths, and differ by congestion control: cubic
//! slows down at a loss, bbr paces and does not.

use super::course::{Course, LateLosses, Recovery, SecondHalf, is_paced, quantile};
use caudal_core::tcp_trace::TcpReading;

/// Minimum queueing delay that shows in smoothed round-trip times, s.
const MIN_QUEUE_S: f64 = 0.004;
/// Minimum number of retransmitted segments whose pattern is looked at.
const MIN_RETRANSMITS: u32 = 4;
/// The part of the longest queue, and the share of the losses at it, for losses to be those of a full queue.
const FULL_QUEUE: f64 = 0.6;
/// Maximum dispersion of the losses per round trip for them to be independent: 1 where they are, more where they come in bursts.
const MAX_DISPERSION: f64 = 3.0;
/// Minimum dispersion of losses that are not independent, and of bursts that show by themselves.
const MIN_DISPERSION: f64 = 2.2;
const MIN_BURSTS: f64 = 5.0;
/// Maximum variation of the delivery rate at losses that keep to one rate, and minimum variation of random ones.
const ONE_RATE: f64 = 0.05;
const SEVERAL_RATES: f64 = 0.2;
/// Maximum standard errors by which the rates at losses exceed the usual ones at random, and maximum part of the segments lost at random
/// whose windows are still longer than a burst.
const MAX_RANK: f64 = 1.1;
const MAX_RANDOM_LOSS: f64 = 0.035;
/// The same where the rate is steady, with congestion control that paces: bursts of its own overflow short queues everywhere.
const MAX_STEADY_LOSS: f64 = 0.05;
/// Maximum deviation of what was delivered at losses from a line, as a part of the time that they cover.
const MAX_DEVIATION: f64 = 0.015;
/// The same where segments are lost that heavily, whose rate at random varies less.
const MAX_HEAVY_DEVIATION: f64 = 0.003;
/// The same with congestion control that paces, whose rate is steady by itself, and the ratio of the fastest delivery to the usual one from
/// which on it is not.
const MAX_PACED_DEVIATION: f64 = 0.01;
const MANY_TIMES: f64 = 2.0;
/// Maximum ratio of the mean rate to the fastest delivery at which losses that keep to a line are a policer's, however evenly they come.
const MAX_POLICED_FULLNESS: f64 = 0.35;
/// The same in s, and in round trips, where the rate of the connection varies: the minimum ratio of its fastest delivery to the usual one,
/// the minimum number of losses, and the segments lost.
const MAX_UNSTEADY_DEVIATION_S: f64 = 0.01;
const MAX_UNSTEADY_DEVIATION_RTTS: f64 = 0.4;
const UNSTEADY: f64 = 1.25;
const MANY_POINTS: usize = 10;
const POLICED_LOSS: std::ops::RangeInclusive<f64> = 0.004..=0.1;
/// Minimum number of segments lost together where a bucket ran empty, and the number that is more than a short queue loses.
const MIN_EACH: f64 = 2.0;
const MANY_EACH: f64 = 5.0;
/// Maximum number of segments lost together at random.
const MAX_RANDOM_EACH: f64 = 2.0;
/// Minimum loss beyond what a short queue loses.
const MIN_POLICED_LOSS: f64 = 0.005;
/// Minimum loss that no short queue causes where segments are lost many at a time, with congestion control that slows down at each.
const MIN_DROPPED: f64 = 0.05;
/// Minimum ratio of the mean rate to the fastest delivery for a link to be full, where a connection that slows down at losses loses this much.
pub(super) const MIN_FULLNESS: f64 = 0.7;
const MIN_SLOWING_LOSS: f64 = 0.005;
/// Minimum queueing delay of a full queue in segments at the usual rate: a faster link before a policer queues its bursts.
const MIN_QUEUED_SEGMENTS: f64 = 4.0;
/// Minimum loss that a full link without a queue most of the time does not cause.
const MIN_HEAVY_LOSS: f64 = 0.02;
/// Minimum number of losses apart that show a line by themselves.
const MANY_RECOVERIES: usize = 5;
/// Minimum ratio of the fastest delivery to the usual one where a faster link comes before a policer.
const BURST_RATIO: f64 = 1.15;
/// Maximum spread of the delivery rate of a steady connection: interquartile range relative to its median.
const STEADY: f64 = 0.1;
/// Minimum queueing delay when slow start first lost for an overflow: bursts alone queue less.
const MIN_OVERFLOW_S: f64 = 0.02;
const MIN_PACED_OVERFLOW_S: f64 = 0.006;

/// What a connection's losses show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LossPattern {
    /// The link is full: its queue is, most of the time.
    FullLink {
        /// The usual queueing delay, s.
        queue_s: f64,
    },
    /// The queue before a link overflows whenever the connection fills it.
    Overflow {
        /// The queueing delay at these losses, s.
        queue_s: f64,
    },
    /// A queue overflowed in slow start, and nothing was lost afterwards.
    SlowStartOverflow {
        /// The queueing delay at that time, s.
        queue_s: f64,
        /// The round trips since.
        round_trips: f64,
    },
    /// A queue overflowed at the start, and the connection has kept to one rate since.
    SteadyAfterStart {
        /// The queueing delay at that time, s.
        queue_s: f64,
    },
    /// A policer.
    Policer {
        /// The rate delivered at its losses, bit/s.
        rate_bps: f64,
    },
    /// Losses at random.
    Random {
        /// The fraction of the segments lost, without those of slow start.
        loss: f64,
        /// `true` where the rate was steady all the same.
        is_steady: bool,
    },
    /// Losses of many segments that do not tell: a policer, a queue too short to be seen, or random.
    Heavy,
    /// Losses that do not tell.
    Unknown(&'static str),
}

/// The pattern of a connection's losses, and whether they leave a full link possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LossFindings {
    pub(super) pattern: LossPattern,
    /// `true` where so much is lost without a queue most of the time, or at such different rates, that no full link explains it.
    pub(super) excludes_full_link: bool,
}

/// The pattern of the losses of a connection with this congestion control; `None` where there are none to speak of.
pub(super) fn loss_pattern(
    readings: &[TcpReading],
    congestion: Option<&str>,
    mss: u32,
) -> Option<LossFindings> {
    let (first, last) = (readings.first()?, readings.last()?);
    let count = last.retransmits.saturating_sub(first.retransmits);
    if count < MIN_RETRANSMITS {
        return None;
    }
    Course::new(readings, is_paced(congestion), mss).findings()
}

impl Course<'_> {
    fn findings(&self) -> Option<LossFindings> {
        let first = *self.recoveries.first()?;
        let half = self.readings.len() / 2;
        let longest_s = quantile(&self.queue_s, 0.98);
        let long = |queue_s: &&f64| **queue_s > MIN_QUEUE_S.max(longest_s / 2.0);
        let late = self.late_losses(first);
        let second_half = SecondHalf::of(self.readings)?;
        let rates = &second_half.rates;
        let may_be_full =
            self.is_paced || late.loss < MIN_SLOWING_LOSS || second_half.fullness() >= MIN_FULLNESS;
        let is_queued = may_be_full
            && late.loss <= *POLICED_LOSS.end()
            && self.queue_s[half..].iter().filter(long).count() * 2 >= self.queue_s.len() - half;
        if is_queued && rates.spread <= STEADY {
            let queue_s = quantile(&self.queue_s[half..], 0.5);
            return Some(LossFindings {
                pattern: LossPattern::FullLink { queue_s },
                excludes_full_link: false,
            });
        }
        let found = if self.is_paced {
            self.of_paced(first, &late, &second_half, longest_s)
        } else {
            self.of_unpaced(first, &late, &second_half, longest_s)
        };
        // A queue most of the time may be that of a full link, whatever else was lost.
        let pattern = match found {
            LossPattern::Heavy if is_queued => LossPattern::Unknown(SIMILAR),
            found => found,
        };
        Some(LossFindings {
            pattern,
            excludes_full_link: !may_be_full
                || matches!(pattern, LossPattern::Policer { .. } | LossPattern::Heavy),
        })
    }

    /// The pattern of the losses of a connection that slows down at each.
    fn of_unpaced(
        &self,
        first: Recovery,
        late: &LateLosses,
        second_half: &SecondHalf,
        longest_s: f64,
    ) -> LossPattern {
        let rates = &second_half.rates;
        let first_queue_s = self.queue_at(first);
        if late.recoveries.is_empty() {
            return if first_queue_s >= MIN_OVERFLOW_S {
                self.slow_start_overflow(first)
            } else {
                LossPattern::Unknown(
                    "all was lost at once at the start, as at a policer or a queue too short to be seen",
                )
            };
        }
        let queues: Vec<f64> = late
            .recoveries
            .iter()
            .map(|one| self.queue_at(*one))
            .collect();
        let queue_s = quantile(&queues, 0.5);
        let (peak_variation, variation) = self.rate_variation(&late.recoveries);
        let segments_s = MIN_QUEUED_SEGMENTS * self.mss * 8.0 / rates.usual_bps;
        let is_at_full_queue = queue_s >= MIN_QUEUE_S.max(segments_s).max(FULL_QUEUE * longest_s);
        if is_at_full_queue && peak_variation.is_some_and(|varies| varies <= ONE_RATE) {
            return LossPattern::Overflow { queue_s };
        }
        let keeps_to_rate = late.line.filter(|line| line.deviation() <= MAX_DEVIATION);
        let varies = [peak_variation, variation].into_iter().flatten();
        let is_at_one_rate = varies.fold(f64::INFINITY, f64::min) <= ONE_RATE;
        let dispersion = self.dispersion(late.start).unwrap_or(0.0);
        // What is delivered in the long run keeps to a rate, though the connection does not.
        let max_s = MAX_UNSTEADY_DEVIATION_S + MAX_UNSTEADY_DEVIATION_RTTS * self.min_rtt_s;
        if let Some(line) = late.line.filter(|line| line.deviation_s <= max_s)
            && rates.fastest >= UNSTEADY
            && late.recoveries.len() >= MANY_POINTS
            && POLICED_LOSS.contains(&late.loss)
        {
            return LossPattern::Policer {
                rate_bps: line.rate_bps,
            };
        }
        if let Some(line) = keeps_to_rate {
            // A window of a few segments loses this much in a queue of one.
            let are_of_windows = late.loss <= *POLICED_LOSS.end() || late.each() >= MANY_EACH;
            let are_together = late.each() >= MIN_EACH
                && are_of_windows
                && is_at_one_rate
                && (late.loss >= MIN_POLICED_LOSS || late.each() >= MANY_EACH);
            let are_heavy = late.loss >= MIN_HEAVY_LOSS
                && are_of_windows
                && late.recoveries.len() >= MANY_RECOVERIES;
            let are_bursts = dispersion >= MIN_BURSTS
                || dispersion >= MIN_DISPERSION && line.deviation() <= MAX_HEAVY_DEVIATION;
            let are_dropped = late.loss >= MIN_DROPPED && late.each() >= MANY_EACH;
            if are_together || are_heavy && (are_bursts || are_dropped) {
                return LossPattern::Policer {
                    rate_bps: line.rate_bps,
                };
            }
        }
        if late.each() <= MAX_RANDOM_EACH
            && late.loss <= MAX_RANDOM_LOSS
            && peak_variation.is_some_and(|varies| varies >= SEVERAL_RATES)
            && self.rate_rank(late) <= MAX_RANK
        {
            return LossPattern::Random {
                loss: late.loss,
                is_steady: false,
            };
        }
        unknown(late)
    }

    /// The pattern of the losses of a connection that sends at a rate of its own.
    fn of_paced(
        &self,
        first: Recovery,
        late: &LateLosses,
        second_half: &SecondHalf,
        longest_s: f64,
    ) -> LossPattern {
        let rates = &second_half.rates;
        let half = self.readings.len() / 2;
        let first_queue_s = self.queue_at(first);
        let is_short = quantile(&self.queue_s[half..], 0.9) < MIN_QUEUE_S
            && first_queue_s < MIN_PACED_OVERFLOW_S;
        let is_faster = rates.fastest >= BURST_RATIO;
        let is_steady = rates.spread <= STEADY / 2.0;
        if is_faster && is_steady && is_short && late.recoveries.len() >= 2 {
            return LossPattern::Policer {
                rate_bps: second_half.acknowledged_bps,
            };
        }
        if late.segments < MIN_RETRANSMITS {
            return match first_queue_s >= MIN_PACED_OVERFLOW_S {
                true if rates.spread <= STEADY => LossPattern::SteadyAfterStart {
                    queue_s: first_queue_s,
                },
                true => self.slow_start_overflow(first),
                false => LossPattern::Unknown("nothing was lost after the start"),
            };
        }
        let at_full_queue = self.losses_at_queue(late.start, FULL_QUEUE * longest_s);
        let dispersion = self.dispersion(late.start).unwrap_or(f64::NAN);
        let (peak_variation, _) = self.rate_variation(&late.recoveries);
        // No bursts at a short queue are delivered at several times the usual rate.
        let max_deviation = if rates.fastest >= MANY_TIMES {
            MAX_DEVIATION
        } else {
            MAX_PACED_DEVIATION
        };
        let keeps_to_rate = late.line.filter(|line| line.deviation() <= max_deviation);
        if let Some(line) = keeps_to_rate
            && late.loss >= MIN_HEAVY_LOSS
            && late.recoveries.len() >= MANY_RECOVERIES
            && late.each() >= MIN_EACH
            && is_faster
            && (dispersion >= MIN_DISPERSION || second_half.fullness() <= MAX_POLICED_FULLNESS)
            && peak_variation.is_some_and(|varies| varies <= SEVERAL_RATES)
        {
            return LossPattern::Policer {
                rate_bps: line.rate_bps,
            };
        }
        if longest_s >= MIN_QUEUE_S
            && peak_variation.is_some_and(|varies| varies <= ONE_RATE)
            && f64::from(at_full_queue) >= FULL_QUEUE * f64::from(late.segments)
        {
            return LossPattern::Overflow { queue_s: longest_s };
        }
        // A rate that is not steady is not that of a link, and this congestion control does not slow down at single losses.
        if !is_faster
            && dispersion <= MAX_DISPERSION
            && rates.spread <= STEADY
            && late.loss <= MAX_STEADY_LOSS
        {
            return LossPattern::Random {
                loss: late.loss,
                is_steady: true,
            };
        }
        unknown(late)
    }

    fn slow_start_overflow(&self, first: Recovery) -> LossPattern {
        let since_s = self.at_s(self.readings.len() - 1) - self.at_s(first.last);
        LossPattern::SlowStartOverflow {
            queue_s: self.queue_at(first),
            round_trips: since_s / self.min_rtt_s.max(1e-6),
        }
    }
}

/// The pattern of losses that tell none.
fn unknown(late: &LateLosses) -> LossPattern {
    if late.loss >= MIN_HEAVY_LOSS {
        LossPattern::Heavy
    } else {
        LossPattern::Unknown(SIMILAR)
    }
}

/// Why a pattern does not tell.
pub(super) const SIMILAR: &str =
    "a policer, a queue too short to be seen and random loss look alike here";

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const MSS: u32 = 1448;
    const STEP_S: f64 = 0.02;

    /// A connection of 8 s over a path of `rtt_s`, read every 20 ms: for each reading its queueing delay in s, its delivery rate in
    /// Mbit/s, and the segments retransmitted since the one before.
    fn trace(rtt_s: f64, at: impl Fn(usize) -> (f64, f64, u32)) -> Vec<TcpReading> {
        let mut last = TcpReading::default();
        (0..400)
            .map(|nth| {
                let (queue_s, mbps, lost) = at(nth);
                last = TcpReading {
                    at_us: (nth as f64 * STEP_S * 1e6) as u64,
                    rtt_us: ((rtt_s + queue_s) * 1e6) as u32,
                    min_rtt_us: (rtt_s * 1e6) as u32,
                    delivery_bps: (mbps * 1e6) as u64,
                    retransmits: last.retransmits + lost,
                    acknowledged_bytes: last.acknowledged_bytes
                        + (mbps * 1e6 * STEP_S / 8.0) as u64,
                };
                last
            })
            .collect()
    }

    fn found(congestion: &str, readings: &[TcpReading]) -> LossPattern {
        loss_pattern(readings, Some(congestion), MSS)
            .unwrap()
            .pattern
    }

    /// A number from 0 to 1 that looks random.
    fn scattered(nth: usize) -> f64 {
        (nth * 7919 % 101) as f64 / 100.0
    }

    /// The overshoot of slow start at reading 20.
    const START: (usize, u32) = (20, 60);

    /// A policer of about 8.5 Mbit/s: 40 segments every 0.6 s, when the window has come back to the same rate.
    pub(in super::super) fn policed() -> Vec<TcpReading> {
        trace(0.02, |nth| {
            let part = (nth % 30) as f64 / 30.0;
            match nth {
                nth if nth == START.0 => (0.001, 20.0, START.1),
                nth if nth > 40 && nth % 30 == 0 => (0.001, 10.0, 40),
                _ => (0.001 * scattered(nth), 7.0 + 3.0 * part, 0),
            }
        })
    }

    /// Single losses at any rate.
    pub(in super::super) fn at_random() -> Vec<TcpReading> {
        trace(0.05, |nth| {
            let is_loss = nth > 40 && (nth * 31) % 37 == 0;
            match nth {
                nth if nth == START.0 => (0.002, 20.0, START.1),
                _ => (0.0, 4.0 + 16.0 * scattered(nth / 8), u32::from(is_loss)),
            }
        })
    }

    #[test]
    fn losses_at_one_rate_without_a_queue_are_a_policers() {
        let policed = policed();
        let LossPattern::Policer { rate_bps } = found("cubic", &policed) else {
            panic!("{:?}", found("cubic", &policed));
        };
        assert!((7.5e6..9.5e6).contains(&rate_bps), "{rate_bps}");
        // bbr goes on at its rate; a burst passes as fast as the first link.
        let paced = trace(0.02, |nth| match nth {
            nth if nth == START.0 => (0.001, 20.0, START.1),
            nth if nth > 40 && nth % 20 == 0 => (0.001, 13.0, 30),
            _ => (0.0005, 10.0, 0),
        });
        let found = found("bbr", &paced);
        assert!(matches!(found, LossPattern::Policer { .. }), "{found:?}");
    }

    /// The loss pattern as far as it is the result of a test: whether it names a policer, or a full link is left possible.
    fn told(congestion: &str, readings: &[TcpReading]) -> (bool, bool) {
        let found = loss_pattern(readings, Some(congestion), MSS).unwrap();
        let is_policer = matches!(found.pattern, LossPattern::Policer { .. });
        (is_policer, found.excludes_full_link)
    }

    #[test]
    fn a_rate_kept_in_the_long_run_by_a_connection_that_varies_is_a_policers() {
        // Bursts pass at the rate of the link before it, whatever the rate at which it drops.
        let varying = |deviation_s: f64| {
            let mut readings = trace(0.004, |nth| {
                let is_burst = nth % 7 == 3;
                let mbps = if is_burst { 60.0 } else { 38.0 };
                (
                    0.0005,
                    mbps * (0.8 + 0.4 * scattered(nth)),
                    u32::from(is_burst) * 4,
                )
            });
            for (nth, reading) in readings.iter_mut().enumerate() {
                let late_s = nth as f64 * STEP_S + deviation_s * (nth as f64 / 20.0).sin();
                reading.acknowledged_bytes = (38e6 / 8.0 * (late_s + 1.0)) as u64;
            }
            readings
        };
        assert_eq!(told("cubic", &varying(0.001)), (true, true));
        assert!(!told("cubic", &varying(0.06)).0);
    }

    #[test]
    fn bursts_of_bbr_that_overflow_a_short_queue_are_not_a_policers() {
        // No delivery is faster than usual.
        let short = trace(0.046, |nth| {
            let lost = if nth > 40 && nth % 3 == 0 { 60 } else { 0 };
            (
                0.001 * scattered(nth),
                225.0 + 15.0 * scattered(nth / 2),
                lost,
            )
        });
        assert_eq!(told("bbr", &short), (false, true));
        // Nor does the rate keep to a line.
        let varying = trace(0.046, |nth| {
            let lost = if nth > 40 && nth % 9 == 0 { 60 } else { 0 };
            (0.001, 100.0 + 80.0 * (nth as f64 / 60.0).sin(), lost)
        });
        assert!(!told("bbr", &varying).0);
    }

    #[test]
    fn delays_at_low_rates_are_single_segments_and_not_a_full_queue() {
        // 1.5 Mbit/s behind a link of 4.8: 14 ms are two segments at the policer's rate.
        let policed = trace(0.063, |nth| {
            let part = (nth % 40) as f64 / 40.0;
            match nth {
                nth if nth == START.0 => (0.014, 4.5, START.1),
                nth if nth > 40 && nth % 40 == 0 => (0.0137, 1.8, 3),
                _ => (0.006 * scattered(nth), 1.2 + 0.55 * part, 0),
            }
        });
        assert!(told("cubic", &policed).0, "{:?}", found("cubic", &policed));
    }

    #[test]
    fn a_link_that_is_seldom_used_at_its_rate_is_not_full() {
        // 2 % of loss on a path of 1 ms: delayed acknowledgements look like a queue.
        let lossy = trace(0.001, |nth| {
            let mbps = 6.0 + 30.0 * scattered(nth / 3).powi(2);
            (
                0.003 * scattered(nth),
                mbps,
                u32::from(nth > 40 && nth % 2 == 0),
            )
        });
        let LossFindings {
            pattern,
            excludes_full_link,
        } = loss_pattern(&lossy, Some("cubic"), MSS).unwrap();
        assert!(excludes_full_link, "{pattern:?}");
        assert!(!matches!(pattern, LossPattern::FullLink { .. }));
    }

    #[test]
    fn windows_of_single_segments_show_nothing_by_their_losses() {
        // A queue of one frame: every seventh segment is lost at whatever rate.
        let tiny = trace(0.002, |nth| {
            (
                0.0015 * scattered(nth),
                5.0 + 2.0 * scattered(nth),
                u32::from(nth > 40) * 2,
            )
        });
        for congestion in ["cubic", "bbr"] {
            let found = found(congestion, &tiny);
            assert_eq!(found, LossPattern::Heavy, "{congestion}");
        }
    }

    #[test]
    fn losses_at_any_rate_are_random() {
        let random = at_random();
        let LossPattern::Random { loss, is_steady } = found("cubic", &random) else {
            panic!("{:?}", found("cubic", &random));
        };
        assert!(!is_steady && (0.0001..0.002).contains(&loss), "{loss}");
        // bbr does not slow down for them.
        let steady = trace(0.05, |nth| (0.0, 90.0, u32::from((nth * 31) % 37 == 0)));
        let found = found("bbr", &steady);
        assert!(
            matches!(
                found,
                LossPattern::Random {
                    is_steady: true,
                    ..
                }
            ),
            "{found:?}"
        );
    }

    #[test]
    fn a_queue_tells_a_full_link_and_one_that_overflows_at_times() {
        let full = trace(0.05, |nth| {
            (0.01 + 0.002 * scattered(nth), 9.3, u32::from(nth % 50 == 0))
        });
        let LossPattern::FullLink { queue_s } = found("cubic", &full) else {
            panic!("{:?}", found("cubic", &full));
        };
        assert!((0.01..0.012).contains(&queue_s));
        let overflows = trace(0.05, |nth| match nth % 60 {
            0 if nth > 0 => (0.03, 46.0, 12),
            58 | 59 => (0.029, 46.0, 0),
            part => (
                0.03 * (part as f64 / 60.0).powi(4),
                30.0 + part as f64 / 4.0,
                0,
            ),
        });
        let found = found("cubic", &overflows);
        assert!(
            matches!(found, LossPattern::Overflow { queue_s } if queue_s > 0.02),
            "{found:?}"
        );
    }

    #[test]
    fn one_overflow_in_slow_start_is_still_being_recovered_from() {
        let recovering = |queue_s: f64| {
            trace(0.15, move |nth| match nth {
                nth if nth < START.0 => (0.0, 2f64.powf(nth as f64 / 3.0), 0),
                nth if nth == START.0 => (queue_s, 90.0, START.1),
                _ => (0.0, 60.0 + nth as f64 / 40.0, 0),
            })
        };
        let LossPattern::SlowStartOverflow {
            queue_s,
            round_trips,
        } = found("cubic", &recovering(0.07))
        else {
            panic!("{:?}", found("cubic", &recovering(0.07)));
        };
        assert!((queue_s - 0.07).abs() < 1e-4 && (45.0..55.0).contains(&round_trips));
        // Bursts queue that long at a faster link as well.
        assert!(matches!(
            found("cubic", &recovering(0.01)),
            LossPattern::Unknown(_)
        ));
    }

    #[test]
    fn few_losses_and_few_readings_have_no_pattern() {
        let few = trace(0.05, |nth| (0.0, 10.0, u32::from(nth % 150 == 1)));
        assert_eq!(loss_pattern(&few, Some("cubic"), MSS), None);
        let lossy = trace(0.05, |nth| (0.0, 10.0, u32::from(nth % 5 == 1)));
        assert_eq!(loss_pattern(&lossy[..19], Some("cubic"), MSS), None);
        assert_eq!(loss_pattern(&[], None, 0), None);
    }

    #[test]
    fn whatever_another_end_reports_has_an_answer() {
        for seed in 0..200_usize {
            let any = trace(scattered(seed), |nth| {
                let mixed = nth * (seed + 3) + seed * seed;
                (
                    scattered(mixed),
                    100.0 * scattered(mixed / 3),
                    (mixed % 7 == 0).into(),
                )
            });
            for congestion in [None, Some("bbr"), Some("cubic")] {
                let _ = loss_pattern(&any, congestion, 0);
            }
        }
        let huge = TcpReading {
            at_us: u64::MAX,
            rtt_us: u32::MAX,
            min_rtt_us: 1,
            delivery_bps: u64::MAX,
            retransmits: u32::MAX,
            acknowledged_bytes: u64::MAX,
        };
        let mut all = trace(0.0, |_| (0.0, 1.0, 0));
        all.push(huge);
        let _ = loss_pattern(&all, None, 1);
    }
}
