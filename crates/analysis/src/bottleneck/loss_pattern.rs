//! The pattern of a TCP connection's losses over time: a full link, a queue that overflowed in slow start, a policer, or loss at random.
//!
//! A policer drops exactly the packets that a queue of its depth would. Only two things tell them apart: the delay of that queue, and
//! the spacing of what passes (bytes behind a queue arrive at its rate, a policer passes a burst at the speed of the link before it).
//! Random losses come at any rate of the connection, those of either at one rate. What slow start loses by overshooting is left
//! out: only later losses tell. The thresholds were set on connections over emulated paths, and differ by congestion control: cubic
//! slows down at a loss, bbr paces and does not.

use super::rate_line::RateLine;
use caudal_core::tcp_trace::TcpReading;
use caudal_stats::{coefficient_of_variation, nearest_rank};

/// Minimum queueing delay that shows in smoothed round-trip times, s.
const MIN_QUEUE_S: f64 = 0.004;
/// Minimum number of retransmitted segments whose pattern is looked at.
const MIN_RETRANSMITS: u32 = 4;
/// Minimum number of readings of a trace.
const MIN_READINGS: usize = 20;
/// The part of the longest queue, and the share of the losses at it, for losses to be those of a full queue.
const FULL_QUEUE: f64 = 0.6;
/// Maximum dispersion of the losses per round trip for them to be independent: 1 where they are, more where they come in bursts.
const MAX_DISPERSION: f64 = 3.0;
/// Minimum dispersion of losses that are not independent, and of bursts that show by themselves: with congestion control that slows down
/// at each, and with one that paces.
const MIN_DISPERSION: f64 = 2.2;
const MIN_BURSTS: f64 = 5.0;
const MIN_PACED_BURSTS: f64 = 8.0;
/// Maximum variation of the delivery rate at losses that keep to one rate, and minimum variation of random ones.
const ONE_RATE: f64 = 0.05;
const SEVERAL_RATES: f64 = 0.15;
/// Maximum deviation of what was delivered at losses from a line, as a part of the time that they cover.
const MAX_DEVIATION: f64 = 0.015;
/// The same where segments are lost that heavily, whose rate at random varies less.
const MAX_HEAVY_DEVIATION: f64 = 0.003;
/// Minimum number of segments lost together where a bucket ran empty, and the number that is more than a short queue loses.
const MIN_EACH: f64 = 2.0;
const MANY_EACH: f64 = 5.0;
/// Maximum number of segments lost together at random.
const MAX_RANDOM_EACH: f64 = 2.0;
/// Minimum loss beyond what a short queue loses.
const MIN_POLICED_LOSS: f64 = 0.005;
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

impl LossPattern {
    /// `true` where so much is lost without a queue most of the time that no full link explains it.
    pub(super) const fn excludes_full_link(&self) -> bool {
        matches!(self, Self::Policer { .. } | Self::Heavy)
    }
}

/// A time in which segments were retransmitted.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    first: usize,
    last: usize,
}

/// The losses of a connection after those of its start.
struct LateLosses {
    /// The first reading that counts.
    start: usize,
    recoveries: Vec<Recovery>,
    segments: u32,
    /// The fraction of the segments lost.
    loss: f64,
    line: Option<RateLine>,
}

impl LateLosses {
    /// The pattern of losses that tell none.
    fn unknown(&self) -> LossPattern {
        if self.loss >= MIN_HEAVY_LOSS {
            LossPattern::Heavy
        } else {
            LossPattern::Unknown(SIMILAR)
        }
    }

    /// The segments lost in each recovery.
    fn each(&self) -> f64 {
        f64::from(self.segments) / self.recoveries.len().max(1) as f64
    }
}

/// The delivery rates of a time, relative to their median.
struct DeliveryRates {
    /// The 99th percentile.
    fastest: f64,
    /// The interquartile range.
    spread: f64,
}

impl DeliveryRates {
    fn of(readings: &[TcpReading]) -> Self {
        let told = readings.iter().filter(|reading| reading.delivery_bps > 0);
        let rates: Vec<f64> = told.map(|reading| reading.delivery_bps as f64).collect();
        let usual = quantile(&rates, 0.5).max(1.0);
        Self {
            fastest: quantile(&rates, 0.99) / usual,
            spread: (quantile(&rates, 0.75) - quantile(&rates, 0.25)) / usual,
        }
    }
}

/// The course of a connection with what is computed of it.
struct Course<'a> {
    readings: &'a [TcpReading],
    /// The minimum round-trip time of all readings, s.
    min_rtt_s: f64,
    /// The queueing delay of each reading, s.
    queue_s: Vec<f64>,
    /// The segments retransmitted since the reading before.
    retransmits: Vec<u32>,
    recoveries: Vec<Recovery>,
    is_paced: bool,
    mss: f64,
}

/// The pattern of the losses of a connection with this congestion control; `None` where there are none to speak of.
pub(super) fn loss_pattern(
    readings: &[TcpReading],
    congestion: Option<&str>,
    mss: u32,
) -> Option<LossPattern> {
    let (first, last) = (readings.first()?, readings.last()?);
    let count = last.retransmits.saturating_sub(first.retransmits);
    if readings.len() < MIN_READINGS || count < MIN_RETRANSMITS {
        return None;
    }
    let is_paced = congestion.is_some_and(|name| name.starts_with("bbr"));
    Course::new(readings, is_paced, mss).pattern()
}

impl<'a> Course<'a> {
    fn new(readings: &'a [TcpReading], is_paced: bool, mss: u32) -> Self {
        let told = readings.iter().filter(|reading| reading.min_rtt_us > 0);
        let min_us = told.map(|reading| reading.min_rtt_us).min().unwrap_or(0);
        let queue = |reading: &TcpReading| f64::from(reading.rtt_us.saturating_sub(min_us)) / 1e6;
        let retransmits: Vec<u32> = std::iter::once(0)
            .chain(
                readings
                    .windows(2)
                    .map(|pair| pair[1].retransmits - pair[0].retransmits),
            )
            .collect();
        let mut course = Self {
            readings,
            min_rtt_s: f64::from(min_us) / 1e6,
            queue_s: readings.iter().map(queue).collect(),
            retransmits,
            recoveries: Vec::new(),
            is_paced,
            mss: f64::from(mss.max(1)),
        };
        course.recoveries = course.find_recoveries();
        course
    }

    /// Retransmissions less than a round trip apart are one recovery.
    fn find_recoveries(&self) -> Vec<Recovery> {
        let mut recoveries: Vec<Recovery> = Vec::new();
        for (nth, count) in self.retransmits.iter().enumerate() {
            if *count == 0 {
                continue;
            }
            match recoveries.last_mut() {
                Some(one) if self.at_s(nth) - self.at_s(one.last) <= self.rtt_s(one.last) => {
                    one.last = nth;
                }
                _ => recoveries.push(Recovery {
                    first: nth,
                    last: nth,
                }),
            }
        }
        recoveries
    }

    fn at_s(&self, nth: usize) -> f64 {
        self.readings[nth].at_us as f64 / 1e6
    }

    fn rtt_s(&self, nth: usize) -> f64 {
        f64::from(self.readings[nth].rtt_us) / 1e6
    }

    fn pattern(&self) -> Option<LossPattern> {
        let first = *self.recoveries.first()?;
        let half = self.readings.len() / 2;
        let longest_s = quantile(&self.queue_s, 0.98);
        let long = |queue_s: &&f64| **queue_s > MIN_QUEUE_S.max(longest_s / 2.0);
        let is_queued =
            self.queue_s[half..].iter().filter(long).count() * 2 >= self.queue_s.len() - half;
        let rates = DeliveryRates::of(&self.readings[half..]);
        if is_queued && rates.spread <= STEADY {
            let queue_s = quantile(&self.queue_s[half..], 0.5);
            return Some(LossPattern::FullLink { queue_s });
        }
        let late = self.late_losses(first);
        let found = if self.is_paced {
            self.of_paced(first, &late, &rates, longest_s)
        } else {
            self.of_unpaced(first, &late, longest_s)
        };
        // A queue most of the time may be that of a full link, whatever else was lost.
        Some(match found {
            LossPattern::Heavy if is_queued => LossPattern::Unknown(SIMILAR),
            found => found,
        })
    }

    /// The pattern of the losses of a connection that slows down at each.
    fn of_unpaced(&self, first: Recovery, late: &LateLosses, longest_s: f64) -> LossPattern {
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
        let is_at_full_queue = queue_s >= MIN_QUEUE_S.max(FULL_QUEUE * longest_s);
        if is_at_full_queue && peak_variation.is_some_and(|varies| varies <= ONE_RATE) {
            return LossPattern::Overflow { queue_s };
        }
        let keeps_to_rate = late.line.filter(|line| line.deviation <= MAX_DEVIATION);
        let varies = [peak_variation, variation].into_iter().flatten();
        let is_at_one_rate = varies.fold(f64::INFINITY, f64::min) <= ONE_RATE;
        let dispersion = self.dispersion(late.start).unwrap_or(0.0);
        if let Some(line) = keeps_to_rate {
            let are_together = late.each() >= MIN_EACH
                && is_at_one_rate
                && (late.loss >= MIN_POLICED_LOSS || late.each() >= MANY_EACH);
            let are_heavy = late.loss >= MIN_HEAVY_LOSS && late.recoveries.len() >= MANY_RECOVERIES;
            let are_bursts = dispersion >= MIN_BURSTS
                || dispersion >= MIN_DISPERSION && line.deviation <= MAX_HEAVY_DEVIATION;
            if are_together || are_heavy && are_bursts {
                return LossPattern::Policer {
                    rate_bps: line.rate_bps,
                };
            }
        }
        if late.each() <= MAX_RANDOM_EACH
            && peak_variation.is_some_and(|varies| varies >= SEVERAL_RATES)
        {
            return LossPattern::Random {
                loss: late.loss,
                is_steady: false,
            };
        }
        late.unknown()
    }

    /// The pattern of the losses of a connection that sends at a rate of its own.
    fn of_paced(
        &self,
        first: Recovery,
        late: &LateLosses,
        rates: &DeliveryRates,
        longest_s: f64,
    ) -> LossPattern {
        let half = self.readings.len() / 2;
        let first_queue_s = self.queue_at(first);
        let is_short = quantile(&self.queue_s[half..], 0.9) < MIN_QUEUE_S
            && first_queue_s < MIN_PACED_OVERFLOW_S;
        let is_faster = rates.fastest >= BURST_RATIO;
        let is_steady = rates.spread <= STEADY / 2.0;
        if is_faster && is_steady && is_short && late.recoveries.len() >= 2 {
            let rate_bps = self.acknowledged_bps(half);
            return LossPattern::Policer { rate_bps };
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
        let keeps_to_rate = late.line.filter(|line| line.deviation <= MAX_DEVIATION);
        if let Some(line) = keeps_to_rate
            && late.loss >= MIN_HEAVY_LOSS
            && late.recoveries.len() >= MANY_RECOVERIES
            && late.each() >= MIN_EACH
            && (is_faster && dispersion >= MIN_DISPERSION
                || longest_s < MIN_QUEUE_S && dispersion >= MIN_PACED_BURSTS)
        {
            return LossPattern::Policer {
                rate_bps: line.rate_bps,
            };
        }
        let (peak_variation, _) = self.rate_variation(&late.recoveries);
        if longest_s >= MIN_QUEUE_S
            && peak_variation.is_some_and(|varies| varies <= ONE_RATE)
            && f64::from(at_full_queue) >= FULL_QUEUE * f64::from(late.segments)
        {
            return LossPattern::Overflow { queue_s: longest_s };
        }
        if !is_faster && dispersion <= MAX_DISPERSION {
            return LossPattern::Random {
                loss: late.loss,
                is_steady: rates.spread <= STEADY,
            };
        }
        late.unknown()
    }

    fn slow_start_overflow(&self, first: Recovery) -> LossPattern {
        let since_s = self.at_s(self.readings.len() - 1) - self.at_s(first.last);
        LossPattern::SlowStartOverflow {
            queue_s: self.queue_at(first),
            round_trips: since_s / self.min_rtt_s.max(1e-6),
        }
    }

    /// The losses after those of the start.
    fn late_losses(&self, first: Recovery) -> LateLosses {
        let start = self.end_of_start(first);
        let segments: u32 = self.retransmits[start..].iter().sum();
        let last = self.readings.len() - 1;
        let acknowledged = |nth: usize| self.readings[nth.min(last)].acknowledged_bytes;
        let delivered = (acknowledged(last) - acknowledged(start)) as f64 / self.mss;
        LateLosses {
            start,
            recoveries: self
                .recoveries
                .iter()
                .copied()
                .filter(|one| one.first >= start)
                .collect(),
            segments,
            loss: f64::from(segments) / delivered.max(1.0),
            line: self.line(start),
        }
    }

    /// The line through what was delivered whenever a loss was seen.
    fn line(&self, start: usize) -> Option<RateLine> {
        let at_losses = (start..self.readings.len()).filter(|nth| self.retransmits[*nth] > 0);
        let point = |nth: usize| {
            let bytes = self.readings[nth].acknowledged_bytes;
            (self.at_s(nth), bytes as f64 * 8.0)
        };
        RateLine::through(&at_losses.map(point).collect::<Vec<_>>())
    }

    /// The payload acknowledged per second from a reading on, bit/s.
    fn acknowledged_bps(&self, from: usize) -> f64 {
        let last = self.readings.len() - 1;
        let bytes = self.readings[last].acknowledged_bytes - self.readings[from].acknowledged_bytes;
        bytes as f64 * 8.0 / (self.at_s(last) - self.at_s(from)).max(1e-6)
    }

    /// The variation of the delivery rate at some losses: of the highest just before each, and of that at it.
    fn rate_variation(&self, late: &[Recovery]) -> (Option<f64>, Option<f64>) {
        let rate = |nth: usize| self.readings[nth].delivery_bps as f64;
        let before = |one: &Recovery| {
            let near = one.first.saturating_sub(3)..=one.first;
            near.map(rate).fold(0.0, f64::max)
        };
        let peaks: Vec<f64> = late.iter().map(before).filter(|rate| *rate > 0.0).collect();
        let at: Vec<f64> = late
            .iter()
            .map(|one| rate(one.first))
            .filter(|rate| *rate > 0.0)
            .collect();
        (
            coefficient_of_variation(&peaks),
            coefficient_of_variation(&at),
        )
    }

    /// The segments lost from a reading on with at least this queueing delay.
    fn losses_at_queue(&self, start: usize, queue_s: f64) -> u32 {
        (start..self.readings.len())
            .filter(|nth| self.queue_s[*nth] >= queue_s)
            .map(|nth| self.retransmits[nth])
            .sum()
    }

    /// The longest queueing delay when a recovery began: in its first reading and the two before, as recovery empties the queue.
    fn queue_at(&self, recovery: Recovery) -> f64 {
        let readings = &self.queue_s[recovery.first.saturating_sub(2)..=recovery.first];
        readings.iter().copied().fold(0.0, f64::max)
    }

    /// The first reading after what the start lost was made up for.
    fn end_of_start(&self, first: Recovery) -> usize {
        let round_trips = if self.is_paced { 10.0 } else { 5.0 };
        let end_s = self.at_s(first.first) + (round_trips * self.rtt_s(first.first)).max(0.25);
        let after = (first.first..self.readings.len()).find(|nth| self.at_s(*nth) > end_s);
        after.unwrap_or(self.readings.len())
    }

    /// Bins of a round trip from a reading on: the segments retransmitted, and those delivered, in each.
    fn round_trips(&self, start: usize) -> Vec<(f64, f64)> {
        let mut bins: Vec<(f64, f64)> = Vec::new();
        let mut began = start;
        let (mut lost, mut delivered) = (0, 0);
        for nth in start.max(1)..self.readings.len() {
            lost += self.retransmits[nth];
            delivered +=
                self.readings[nth].acknowledged_bytes - self.readings[nth - 1].acknowledged_bytes;
            if self.at_s(nth) - self.at_s(began) >= self.rtt_s(nth) {
                bins.push((f64::from(lost), delivered as f64 / self.mss));
                (lost, delivered, began) = (0, 0, nth);
            }
        }
        bins
    }

    /// The variance of the losses per round trip about what independent losses would have, relative to it, without the twentieth of the
    /// round trips with the most.
    fn dispersion(&self, start: usize) -> Option<f64> {
        const CUT: f64 = 0.05;
        let mut bins = self.round_trips(start);
        bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        let kept = bins.len() - (bins.len() as f64 * CUT).ceil() as usize;
        bins.truncate(kept);
        let sum = |of: fn(&(f64, f64)) -> f64| bins.iter().map(of).sum::<f64>();
        let (lost, delivered) = (sum(|bin| bin.0), sum(|bin| bin.1));
        if bins.len() < 3 || lost <= 0.0 || delivered <= 0.0 {
            return None;
        }
        let p = lost / delivered;
        let squares: f64 = bins
            .iter()
            .filter(|bin| bin.1 > 0.0)
            .map(|(lost, delivered)| (lost - p * delivered).powi(2) / (p * delivered))
            .sum();
        Some(squares / (bins.len() - 1) as f64)
    }
}

/// Why a pattern does not tell.
pub(super) const SIMILAR: &str =
    "a policer, a queue too short to be seen and random loss look alike here";

/// A quantile of some values; 0 without any.
fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    nearest_rank(&sorted, q).unwrap_or(0.0)
}

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
        loss_pattern(readings, Some(congestion), MSS).unwrap()
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
