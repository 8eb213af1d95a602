//! The levels of a rate: the parts of a test between which it changed at once, as where the credit of a token bucket is used up or other
//! traffic begins.
//!
//! A level is steady, and the change to it is sharp: slow start, the growth of a congestion window after a loss and rates that vary all
//! the time are none.

use super::rate_sample::RateSample;
use super::recovery::even_out_recoveries;
use crate::level_borders::{MAX_DRIFT, drift, merge_until_distinct};
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_core::plan::Direction;
use caudal_stats::{change_points, median};

/// Minimum length of a level, s, in round trips, and in bins.
const MIN_LENGTH_S: f64 = 1.0;
const MIN_ROUND_TRIPS: f64 = 10.0;
const MIN_BINS: usize = 5;
/// Minimum ratio of the rates of two levels next to each other. Source: `ShaperProbe` (Kanuparthy and Dovrolis, 2011).
const MIN_RATIO: f64 = 1.1;
/// Standard deviation of the logarithm of a rate below which differences are not looked at.
const MIN_NOISE: f64 = 0.01;
/// Maximum interquartile range of a level, relative to its median.
const MAX_SPREAD: f64 = 0.1;
/// The part of the rate that follows which ends the start of a transport.
const STARTED: f64 = 0.8;
/// Minimum part of what a level carries that arrives beyond it at the start of a test, s of that level.
const MIN_CREDIT_S: f64 = 0.1;

/// A part of a direction's samples in which its rate stayed at one level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Level {
    pub(super) samples: Vec<RateSample>,
}

impl Level {
    pub(super) fn start_s(&self) -> f64 {
        self.samples.first().map_or(0.0, |first| first.start_s)
    }

    pub(super) fn end_s(&self) -> f64 {
        self.samples.last().map_or(0.0, |last| last.end_s)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.samples.iter().map(|sample| sample.bytes).sum()
    }

    pub(super) fn length_s(&self) -> f64 {
        self.end_s() - self.start_s()
    }

    fn bps(&self) -> f64 {
        self.bytes() as f64 * 8.0 / self.length_s()
    }

    /// The figures of this level beside those of the longest.
    fn evidence(&self, longest: &Self) -> String {
        let carried = format!(
            "{:.3} MB at {:.2} Mbit/s",
            self.bytes() as f64 / 1e6,
            self.bps() / 1e6
        );
        let beyond = self.bytes() as f64 - longest.bps() * self.length_s() / 8.0;
        if self.end_s() <= longest.start_s() && beyond > 0.0 {
            format!(
                "{carried}, {:.3} MB more than at the level after it",
                beyond / 1e6
            )
        } else {
            carried
        }
    }
}

/// The levels of a direction, in their order: none where the rate stayed at one, or kept to none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Levels(Vec<Level>);

impl Levels {
    /// The levels of a rate over a path with this round-trip time.
    pub(super) fn find(samples: &[RateSample], rtt_s: f64) -> Self {
        Self(find(samples, rtt_s).unwrap_or_default())
    }

    /// The level that stands for a test: the longest, and of equally long ones the last.
    pub(super) fn longest(&self) -> Option<&Level> {
        self.0
            .iter()
            .max_by(|a, b| a.length_s().total_cmp(&b.length_s()))
    }

    /// The others as episodes.
    pub(super) fn others(&self, direction: Direction) -> Vec<Episode> {
        let Some(longest) = self.longest() else {
            return Vec::new();
        };
        let others = self.0.iter().filter(|level| *level != longest);
        others
            .map(|level| Episode {
                kind: EpisodeKind::RateLevel,
                from_s: level.start_s(),
                to_s: Some(level.end_s()),
                direction: Some(direction),
                evidence: level.evidence(longest),
            })
            .collect()
    }
}

fn find(samples: &[RateSample], rtt_s: f64) -> Option<Vec<Level>> {
    let usual_s = samples.first()?.length_s();
    let per_bin = (rtt_s / usual_s).ceil().max(1.0) as usize;
    let bins: Vec<&[RateSample]> = samples.chunks_exact(per_bin).collect();
    let bin_s = usual_s * per_bin as f64;
    let min_s = MIN_LENGTH_S.max(MIN_ROUND_TRIPS * rtt_s);
    let min_bins = ((min_s / bin_s).ceil() as usize).max(MIN_BINS);
    let mut rates: Vec<f64> = bins.iter().map(|bin| rate(bin)).collect();
    even_out_recoveries(&mut rates, min_bins);
    let borders = borders(&rates, min_bins, bin_s)?;
    let levels = borders.windows(2).map(|ends| {
        // The last level has what remains of the samples.
        let is_last = ends[1] == rates.len();
        let end = if is_last {
            samples.len()
        } else {
            ends[1] * per_bin
        };
        Level {
            samples: samples[ends[0] * per_bin..end].to_vec(),
        }
    });
    Some(levels.collect())
}

fn rate(samples: &[RateSample]) -> f64 {
    let bytes: u64 = samples.iter().map(|sample| sample.bytes).sum();
    let length_s: f64 = samples.iter().map(RateSample::length_s).sum();
    bytes as f64 * 8.0 / length_s
}

/// The bins at which levels begin, and the end of the last one; `None` for fewer than two levels.
fn borders(rates: &[f64], min_bins: usize, bin_s: f64) -> Option<Vec<usize>> {
    let start = started(rates, min_bins);
    let usual = median(rates).filter(|usual| *usual > 0.0)?;
    // What arrives in a bin may be nothing.
    let logarithms: Vec<f64> = rates
        .iter()
        .map(|rate| (rate + usual / 100.0).ln())
        .collect();
    let steady = &logarithms[start..];
    let mut borders: Vec<usize> = match change_points(steady, min_bins, MIN_NOISE) {
        Some(starts) => starts.iter().map(|border| border + start).collect(),
        None => vec![start],
    };
    borders.push(rates.len());
    merge_until_distinct(&mut borders, &logarithms, min_bins, MIN_RATIO);
    let is_level = |ends: &[usize]| spread(&rates[ends[0]..ends[1]]) <= MAX_SPREAD;
    if !borders.windows(2).all(is_level) {
        return None;
    }
    add_credit(&mut borders, rates, bin_s);
    (borders.len() > 2).then_some(borders)
}

/// The number of bins in which a transport finds out what the path carries: until one has most of what the next ones have.
fn started(rates: &[f64], min_bins: usize) -> usize {
    let is_started = |nth: &usize| {
        let next = &rates[nth + 1..(nth + 1 + min_bins).min(rates.len())];
        median(next).is_some_and(|next| rates[*nth] >= STARTED * next)
    };
    let last = rates.len().saturating_sub(2 * min_bins);
    (0..last).find(is_started).unwrap_or(last)
}

/// The interquartile range of the rates over three bins each, relative to their median: what one bin lacks and the next has is no change of
/// the rate.
fn spread(rates: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = rates.windows(3).map(|bins| bins.iter().sum()).collect();
    if sorted.is_empty() {
        return f64::INFINITY;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize];
    (at(0.75) - at(0.25)) / at(0.5).max(f64::MIN_POSITIVE)
}

/// Sets a border after the first bins where they carry more than the first level does: a credit that is used up faster than a level lasts.
fn add_credit(borders: &mut Vec<usize>, rates: &[f64], bin_s: f64) {
    let (Some(first), Some(second)) = (borders.first().copied(), borders.get(1).copied()) else {
        return;
    };
    let Some(level) = median(&rates[first..second]) else {
        return;
    };
    let is_above = |rate: &&f64| **rate >= MIN_RATIO * level;
    // Slow start comes before what is above the level, if anything is.
    let Some(beginning) = rates[..second]
        .iter()
        .position(|rate| *rate >= MIN_RATIO * level)
    else {
        return;
    };
    let length = rates[beginning..second].iter().take_while(is_above).count();
    let end = beginning + length;
    let beyond_s: f64 = rates[..end]
        .iter()
        .map(|rate| (rate / level - 1.0) * bin_s)
        .sum();
    if second - end < MIN_BINS {
        return;
    }
    let logarithms: Vec<f64> = rates[end..second]
        .iter()
        .map(|rate| rate.max(1.0).ln())
        .collect();
    let above = median(&rates[beginning..end]).unwrap_or(level);
    // A rate that goes on falling has no level.
    let is_level = drift(&logarithms) <= MAX_DRIFT * (above / level).ln();
    if beyond_s >= MIN_CREDIT_S && is_level && beginning <= MIN_BINS {
        borders[0] = end;
        borders.insert(0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Samples of 50 ms with these rates in Mbit/s.
    fn samples(mbps: &[f64]) -> Vec<RateSample> {
        let sample = |(nth, mbps): (usize, &f64)| {
            let start_s = nth as f64 * 0.05;
            RateSample::new(start_s, start_s + 0.05, (mbps * 1e6 * 0.05 / 8.0) as u64)
        };
        mbps.iter().enumerate().map(sample).collect()
    }

    /// The levels found, each as its beginning in s and its rate in Mbit/s.
    fn found(mbps: &[f64], rtt_s: f64) -> Vec<(f64, f64)> {
        let found = Levels::find(&samples(mbps), rtt_s).0;
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        found
            .iter()
            .map(|level| (rounded(level.start_s()), rounded(level.bps() / 1e6)))
            .collect()
    }

    fn jitter(nth: usize) -> f64 {
        1.0 + ((nth * 7919 % 13) as f64 - 6.0) / 400.0
    }

    fn series(n: usize, mbps: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n).map(|nth| mbps(nth) * jitter(nth)).collect()
    }

    #[test]
    fn a_credit_that_is_used_up_is_a_level_of_its_own() {
        let boost = series(200, |nth| if nth < 22 { 47.0 } else { 19.0 });
        assert_eq!(found(&boost, 0.02), [(0.0, 47.0), (1.1, 19.0)]);
        let all = Levels::find(&samples(&boost), 0.02);
        assert!((all.longest().unwrap().bps() / 1e6 - 19.0).abs() < 0.1);
        // In less than the minimum length of a level.
        let short = series(200, |nth| if nth < 3 { 200.0 } else { 19.0 });
        let short = found(&short, 0.02);
        assert_eq!(short.len(), 2);
        assert_eq!((short[1].0, short[1].1), (0.2, 19.0));
        // Beyond which a queue makes round trips long.
        let queued = series(160, |nth| if nth < 2 { 320.0 } else { 19.0 });
        let queued = found(&queued, 0.178);
        assert_eq!(queued.len(), 2);
        assert_eq!(queued[1].1, 19.0);
    }

    #[test]
    fn other_traffic_that_begins_or_ends_makes_levels() {
        let between = |nth: usize| (80..140).contains(&nth);
        let others = series(200, |nth| if between(nth) { 28.0 } else { 47.0 });
        let found = found(&others, 0.01);
        assert_eq!(found, [(0.0, 47.0), (4.0, 28.0), (7.0, 46.7)]);
    }

    #[test]
    fn slow_start_growth_and_saw_teeth_are_no_levels() {
        let slow_start = series(200, |nth| (2f64.powf(nth as f64 / 4.0)).min(90.0));
        assert_eq!(found(&slow_start, 0.1), []);
        // Cubic after an overflow: 4 s from 0.7 of the link to all of it, and beyond.
        let cubic = series(200, |nth| {
            let part = 1.0 - 0.3 * (1.0 - nth as f64 / 80.0).max(0.0).powi(3);
            if nth < 8 {
                nth as f64 * 12.0
            } else {
                95.0 * part
            }
        });
        assert_eq!(found(&cubic, 0.15), []);
        for teeth in [20, 40, 70] {
            let reno = series(200, |nth| {
                50.0 * (0.6 + 0.4 * (nth % teeth) as f64 / teeth as f64)
            });
            assert_eq!(found(&reno, 0.05), [], "{teeth}");
        }
        let growing = series(400, |nth| 20.0 + nth as f64 / 10.0);
        assert_eq!(found(&growing, 0.05), []);
    }

    #[test]
    fn short_interruptions_are_no_levels() {
        let holes = series(200, |nth| if nth % 20 == 0 { 0.0 } else { 4.8 });
        assert_eq!(found(&holes, 0.001), []);
        assert_eq!(found(&[], 0.1), []);
        assert_eq!(found(&[1.0; 3], 0.1), []);
        assert_eq!(found(&[0.0; 300], 0.1), []);
    }

    #[test]
    fn a_rate_that_keeps_falling_has_no_credit() {
        let falling = series(80, |nth| 2.2 + 1.2 * (-(nth as f64) / 25.0).exp());
        assert_eq!(found(&falling, 0.25), []);
    }

    #[test]
    fn a_small_change_is_none() {
        let small = series(200, |nth| if nth < 80 { 50.0 } else { 47.0 });
        assert_eq!(found(&small, 0.01), []);
    }

    proptest! {
        #[test]
        fn levels_cover_all_samples_in_their_order(
            mbps in prop::collection::vec(0.0f64..100.0, 0..300),
            rtt_s in 0.0f64..0.5,
        ) {
            let samples = samples(&mbps);
            let found = Levels::find(&samples, rtt_s).0;
            prop_assert!(found.len() != 1);
            if !found.is_empty() {
                let count: usize = found.iter().map(|level| level.samples.len()).sum();
                prop_assert!(count <= samples.len());
                prop_assert!(found.windows(2).all(|pair| pair[0].end_s() <= pair[1].start_s() + 1e-9));
            }
        }
    }
}
