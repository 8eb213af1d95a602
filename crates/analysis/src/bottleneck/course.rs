//! The course of a TCP connection, and what is computed of it to tell the pattern of its losses.

use super::rate_line::RateLine;
use caudal_core::tcp_trace::TcpReading;
use caudal_stats::{coefficient_of_variation, nearest_rank};

/// A time in which segments were retransmitted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recovery {
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The losses of a connection after those of its start.
pub(super) struct LateLosses {
    /// The first reading that counts.
    pub(super) start: usize,
    pub(super) recoveries: Vec<Recovery>,
    pub(super) segments: u32,
    /// The fraction of the segments lost.
    pub(super) loss: f64,
    pub(super) line: Option<RateLine>,
}

impl LateLosses {
    /// The segments lost in each recovery.
    pub(super) fn each(&self) -> f64 {
        f64::from(self.segments) / self.recoveries.len().max(1) as f64
    }
}

/// The delivery rates of a time.
pub(super) struct DeliveryRates {
    /// The median, bit/s.
    pub(super) usual_bps: f64,
    /// The 99th percentile relative to the median.
    pub(super) fastest: f64,
    /// The interquartile range relative to the median.
    pub(super) spread: f64,
}

impl DeliveryRates {
    pub(super) fn of(readings: &[TcpReading]) -> Self {
        let told = readings.iter().filter(|reading| reading.delivery_bps > 0);
        let rates: Vec<f64> = told.map(|reading| reading.delivery_bps as f64).collect();
        let usual = quantile(&rates, 0.5).max(1.0);
        Self {
            usual_bps: usual,
            fastest: quantile(&rates, 0.99) / usual,
            spread: (quantile(&rates, 0.75) - quantile(&rates, 0.25)) / usual,
        }
    }
}

/// The second half of a connection's course, when it no longer starts.
pub(super) struct SecondHalf {
    /// The payload acknowledged per second, bit/s.
    pub(super) acknowledged_bps: f64,
    pub(super) rates: DeliveryRates,
}

impl SecondHalf {
    /// Minimum number of readings of a course.
    const MIN_READINGS: usize = 20;

    /// The second half of a course; `None` where it has too few readings.
    pub(super) fn of(readings: &[TcpReading]) -> Option<Self> {
        let half = &readings[readings.len() / 2..];
        let (first, last) = (half.first()?, half.last()?);
        let seconds = (last.at_us - first.at_us) as f64 / 1e6;
        let bits = (last.acknowledged_bytes - first.acknowledged_bytes) as f64 * 8.0;
        (readings.len() >= Self::MIN_READINGS).then(|| Self {
            acknowledged_bps: bits / seconds.max(1e-6),
            rates: DeliveryRates::of(half),
        })
    }

    /// The ratio of the mean rate to the fastest delivery: a full link delivers at its rate all the time.
    pub(super) fn fullness(&self) -> f64 {
        self.acknowledged_bps / (self.rates.usual_bps * self.rates.fastest)
    }
}

/// `true` for congestion control that sends at a rate of its own and does not slow down at single losses.
pub(super) fn is_paced(congestion: Option<&str>) -> bool {
    congestion.is_some_and(|name| name.starts_with("bbr"))
}

/// The course of a connection with what is computed of it.
pub(super) struct Course<'a> {
    pub(super) readings: &'a [TcpReading],
    /// The minimum round-trip time of all readings, s.
    pub(super) min_rtt_s: f64,
    /// The queueing delay of each reading, s.
    pub(super) queue_s: Vec<f64>,
    /// The segments retransmitted since the reading before.
    pub(super) retransmits: Vec<u32>,
    pub(super) recoveries: Vec<Recovery>,
    pub(super) is_paced: bool,
    pub(super) mss: f64,
}

impl<'a> Course<'a> {
    pub(super) fn new(readings: &'a [TcpReading], is_paced: bool, mss: u32) -> Self {
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

    pub(super) fn at_s(&self, nth: usize) -> f64 {
        self.readings[nth].at_us as f64 / 1e6
    }

    pub(super) fn rtt_s(&self, nth: usize) -> f64 {
        f64::from(self.readings[nth].rtt_us) / 1e6
    }

    /// The losses after those of the start.
    pub(super) fn late_losses(&self, first: Recovery) -> LateLosses {
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

    /// The variation of the delivery rate at some losses: of the highest just before each, and of that at it.
    pub(super) fn rate_variation(&self, late: &[Recovery]) -> (Option<f64>, Option<f64>) {
        let rate = |nth: usize| self.readings[nth].delivery_bps as f64;
        let before = |one: &Recovery| self.peak_bps(one.first) as f64;
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

    /// The highest delivery rate of a reading and the three before, bit/s: recovery slows down what comes after a loss.
    fn peak_bps(&self, nth: usize) -> u64 {
        let near = &self.readings[nth.saturating_sub(3)..=nth];
        let rates = near.iter().map(|reading| reading.delivery_bps);
        rates.max().unwrap_or(0)
    }

    /// How fast the connection was at some losses: the mean share of the payload, from a reading on, that was delivered at lower rates
    /// than at each of them, in standard errors above the half that losses at random have. 0 where no rates are known.
    pub(super) fn rate_rank(&self, late: &LateLosses) -> f64 {
        /// The standard deviation of a uniform rank: 1/√12.
        const SD: f64 = 0.288_675;
        let delivered = |nth: usize| {
            (self.readings[nth].acknowledged_bytes - self.readings[nth - 1].acknowledged_bytes)
                as f64
        };
        let mut all: Vec<(u64, f64)> = (late.start.max(1)..self.readings.len())
            .map(|nth| (self.peak_bps(nth), delivered(nth)))
            .filter(|(bps, _)| *bps > 0)
            .collect();
        all.sort_unstable_by_key(|(bps, _)| *bps);
        let total: f64 = all.iter().map(|(_, bytes)| bytes).sum();
        let peaks = late.recoveries.iter().map(|one| self.peak_bps(one.first));
        let ranks: Vec<f64> = peaks
            .filter(|bps| *bps > 0)
            .map(|bps| {
                let below = |max: u64| -> f64 {
                    let slower = all.iter().take_while(|(other, _)| *other <= max);
                    slower.map(|(_, bytes)| bytes).sum()
                };
                f64::midpoint(below(bps - 1), below(bps)) / total.max(1.0)
            })
            .collect();
        let count = ranks.len() as f64;
        if ranks.is_empty() {
            return 0.0;
        }
        (ranks.iter().sum::<f64>() / count - 0.5) * count.sqrt() / SD
    }

    /// The segments lost from a reading on with at least this queueing delay.
    pub(super) fn losses_at_queue(&self, start: usize, queue_s: f64) -> u32 {
        (start..self.readings.len())
            .filter(|nth| self.queue_s[*nth] >= queue_s)
            .map(|nth| self.retransmits[nth])
            .sum()
    }

    /// The longest queueing delay when a recovery began: in its first reading and the two before, as recovery empties the queue.
    pub(super) fn queue_at(&self, recovery: Recovery) -> f64 {
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
    pub(super) fn dispersion(&self, start: usize) -> Option<f64> {
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

/// A quantile of some values; 0 without any.
pub(super) fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    nearest_rank(&sorted, q).unwrap_or(0.0)
}
