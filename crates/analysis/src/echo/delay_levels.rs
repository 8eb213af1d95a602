//! The levels of round-trip times: the parts of a test between which they changed at once, as where the route changed.

use super::delay_episodes::delay_episodes;
use super::record::EchoSeries;
use crate::level_borders::merge_until_distinct;
use caudal_core::echo::DelayLevel;
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_stats::{change_points, median, nearest_rank};

/// Minimum length of a level, s, and in bins.
const MIN_LENGTH_S: f64 = 1.0;
const MIN_BINS: usize = 5;
/// Maximum number of bins, and minimum number of round trips in each.
const MAX_BINS: usize = 200;
const MIN_IN_BIN: usize = 3;
/// Minimum ratio of the medians of two levels next to each other, and minimum change, µs: wake-ups change by less.
const MIN_RATIO: f64 = 1.1;
const MIN_CHANGE_US: f64 = 200.0;
/// Standard deviation of the logarithm of a median below which differences are not looked at.
const MIN_NOISE: f64 = 0.01;
/// Maximum interquartile range of the round trips of a level, as a part of the change to the next.
const MAX_SPREAD: f64 = 0.5;
/// Maximum number of messages whose levels are looked for, as their times and places take memory.
const MAX_MESSAGES: usize = 2_000_000;
/// Maximum part of the messages without a reply where their times are only known by those of the others.
const MAX_LOST: f64 = 0.01;

/// A part of a series in which round trips stayed at one level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeriesLevel {
    /// The messages answered in it, by their numbers.
    pub(super) messages: Vec<usize>,
    /// Its beginning and end, s after the start of the test.
    pub(super) time: DelayLevel,
    /// The median of its round trips, µs.
    median_us: f64,
    /// Their interquartile range, µs.
    spread_us: f64,
}

impl SeriesLevel {
    fn of(messages: Vec<usize>, series: &EchoSeries, times_s: &[f64]) -> Self {
        let mut sorted: Vec<f64> = messages
            .iter()
            .filter_map(|nth| rtt_us(series, *nth))
            .collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| nearest_rank(&sorted, part).unwrap_or(0.0);
        let time = |nth: Option<&usize>| nth.map_or(0.0, |nth| times_s[*nth]);
        Self {
            time: DelayLevel {
                from_s: time(messages.first()),
                to_s: time(messages.last()),
            },
            median_us: at(0.5),
            spread_us: at(0.75) - at(0.25),
            messages,
        }
    }

    fn length_s(&self) -> f64 {
        self.time.to_s - self.time.from_s
    }
}

/// The level that stands for a series: the longest, and of equally long ones the last.
pub(super) fn longest(levels: &[SeriesLevel]) -> Option<&SeriesLevel> {
    levels
        .iter()
        .max_by(|a, b| a.length_s().total_cmp(&b.length_s()))
}

/// The levels of a series in their order, without the messages of delay episodes: none where round trips stayed at one, or kept to none.
pub(super) fn delay_levels(series: &EchoSeries) -> Vec<SeriesLevel> {
    find(series).unwrap_or_default()
}

/// The levels of a series but the longest, as episodes.
#[must_use]
pub fn delay_level_episodes(series: &EchoSeries) -> Vec<Episode> {
    let levels = delay_levels(series);
    let Some(longest) = longest(&levels) else {
        return Vec::new();
    };
    let others = levels.iter().filter(|level| *level != longest);
    others
        .map(|level| {
            let side = if level.time.from_s < longest.time.from_s {
                "after"
            } else {
                "before"
            };
            Episode {
                kind: EpisodeKind::DelayLevel,
                from_s: level.time.from_s,
                to_s: Some(level.time.to_s),
                direction: None,
                evidence: format!(
                    "round trips of {:.2} ms in the median, {:.2} ms {side} it",
                    level.median_us / 1e3,
                    longest.median_us / 1e3
                ),
            }
        })
        .collect()
}

/// The borders of levels, which are those of bins, moved to the message with which the next level begins: by a bin at most.
fn to_the_message(
    cuts: &[usize],
    usual: &[usize],
    series: &EchoSeries,
    per_bin: usize,
) -> Vec<usize> {
    let middle = |from: usize, to: usize| {
        let part = usual.get(from..to).unwrap_or_default();
        let rtts: Vec<f64> = part.iter().filter_map(|nth| rtt_us(series, *nth)).collect();
        median(&rtts)
    };
    let mut moved = cuts.to_vec();
    for nth in 1..cuts.len().saturating_sub(1) {
        let (before, after) = (
            middle(cuts[nth - 1], cuts[nth]),
            middle(cuts[nth], cuts[nth + 1]),
        );
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        let is_of_next = |at: usize| {
            let rtt = usual.get(at).and_then(|nth| rtt_us(series, *nth));
            rtt.is_some_and(|rtt| (rtt - after).abs() < (rtt - before).abs())
        };
        let (low, high) = (cuts[nth] - per_bin, cuts[nth] + per_bin);
        let cut = &mut moved[nth];
        while *cut < high && !is_of_next(*cut) {
            *cut += 1;
        }
        while *cut > low && is_of_next(*cut - 1) {
            *cut -= 1;
        }
    }
    moved
}

fn find(series: &EchoSeries) -> Option<Vec<SeriesLevel>> {
    if series.replies.len() > MAX_MESSAGES {
        return None;
    }
    let times_s = times_s(series)?;
    let mut is_usual = vec![true; series.replies.len()];
    for one in delay_episodes(series) {
        is_usual[one.first..=one.last].fill(false);
    }
    let usual: Vec<usize> = (0..series.replies.len())
        .filter(|nth| is_usual[*nth] && series.replies[*nth].ns().is_some())
        .collect();
    let per_bin = (usual.len() / MAX_BINS).max(MIN_IN_BIN);
    let bins: Vec<&[usize]> = usual.chunks_exact(per_bin).collect();
    let span_s = times_s[*usual.last()?] - times_s[*usual.first()?];
    let bin_s = span_s / bins.len().max(1) as f64;
    if bin_s <= 0.0 {
        return None;
    }
    let min_bins = ((MIN_LENGTH_S / bin_s).ceil() as usize).max(MIN_BINS);
    let of_bin = |bin: &&[usize]| {
        let rtts: Vec<f64> = bin.iter().filter_map(|nth| rtt_us(series, *nth)).collect();
        median(&rtts).map_or(0.0, f64::ln)
    };
    let logarithms: Vec<f64> = bins.iter().map(of_bin).collect();
    let mut borders = change_points(&logarithms, min_bins, MIN_NOISE)?;
    borders.push(logarithms.len());
    merge_until_distinct(&mut borders, &logarithms, min_bins, MIN_RATIO);
    // The last level has what remains of the messages.
    let mut cuts: Vec<usize> = borders.iter().map(|border| border * per_bin).collect();
    if let Some(last) = cuts.last_mut() {
        *last = usual.len();
    }
    let cuts = to_the_message(&cuts, &usual, series, per_bin);
    let levels: Vec<SeriesLevel> = cuts
        .windows(2)
        .map(|ends| SeriesLevel::of(usual[ends[0]..ends[1]].to_vec(), series, &times_s))
        .collect();
    let is_distinct = |pair: &[SeriesLevel]| {
        let change_us = (pair[1].median_us - pair[0].median_us).abs();
        let spread_us = pair[0].spread_us.max(pair[1].spread_us);
        change_us >= MIN_CHANGE_US && spread_us <= MAX_SPREAD * change_us
    };
    (levels.len() > 1 && levels.windows(2).all(is_distinct)).then_some(levels)
}

/// The time of each message, s after the start of the test; `None` where it is not known.
fn times_s(series: &EchoSeries) -> Option<Vec<f64>> {
    if series.departures.len() == series.replies.len() {
        let due = series.departures.iter();
        return Some(due.map(|one| one.intended_ns as f64 / 1e9).collect());
    }
    // Each message follows the reply to the one before.
    let lost = series
        .replies
        .iter()
        .filter(|reply| reply.ns().is_none())
        .count();
    if lost as f64 > MAX_LOST * series.replies.len() as f64 {
        return None;
    }
    let mut at_s = 0.0;
    let sent = series.replies.iter().map(|reply| {
        let began_s = at_s;
        at_s += reply.ns().unwrap_or(0) as f64 / 1e9;
        began_s
    });
    Some(sent.collect())
}

fn rtt_us(series: &EchoSeries, nth: usize) -> Option<f64> {
    series.replies[nth].ns().map(|ns| ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::record::{Departure, Reply};
    use super::*;
    use caudal_stats::random::SplitMix64;

    /// Messages with these round trips in µs, every 20 ms or one after another.
    fn series(rtts_us: &[f64], every_ns: Option<u64>) -> EchoSeries {
        let departure = |nth: usize| Departure {
            intended_ns: nth as u64 * every_ns.unwrap_or(0),
            late_ns: 0,
            one_way: None,
        };
        let scheduled = every_ns.map_or(0, |_| rtts_us.len());
        EchoSeries {
            replies: rtts_us
                .iter()
                .map(|us| Reply::after((us * 1e3) as u64))
                .collect(),
            departures: (0..scheduled).map(departure).collect(),
            ..EchoSeries::default()
        }
    }

    /// Round trips in µs with jitter of this many µs.
    fn jittered(n: usize, jitter_us: f64, us: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = SplitMix64::new(5);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (0..n)
            .map(|nth| us(nth) - jitter_us * uniform().ln())
            .collect()
    }

    #[test]
    fn a_level_begins_with_its_first_message_wherever_the_bins_lie() {
        for change in 200..206 {
            let rtts = jittered(
                500,
                300.0,
                |nth| {
                    if nth < change { 20_000.0 } else { 50_000.0 }
                },
            );
            let levels = delay_levels(&series(&rtts, None));
            let first = levels.get(1).and_then(|level| level.messages.first());
            assert_eq!((levels.len(), first), (2, Some(&change)));
        }
    }

    #[test]
    fn another_route_is_another_level() {
        let rtts = jittered(
            500,
            300.0,
            |nth| if nth < 200 { 20_000.0 } else { 50_000.0 },
        );
        for every_ns in [Some(20_000_000), None] {
            let series = series(&rtts, every_ns);
            let levels = delay_levels(&series);
            assert_eq!(levels.len(), 2, "{every_ns:?}");
            let stands = longest(&levels).unwrap();
            assert!((stands.median_us - 50_200.0).abs() < 200.0);
            let change_s = if every_ns.is_some() { 4.0 } else { 4.06 };
            assert!(
                (stands.time.from_s - change_s).abs() < 0.1,
                "{:?}",
                stands.time
            );
            let others = delay_level_episodes(&series);
            assert_eq!(others.len(), 1);
            assert!(
                others[0].evidence.starts_with("round trips of 20.2"),
                "{}",
                others[0].evidence
            );
        }
    }

    #[test]
    fn jitter_drift_and_small_changes_are_no_levels() {
        for rtts in [
            jittered(500, 300.0, |_| 20_000.0),
            jittered(500, 20.0, |nth| if nth < 200 { 60.0 } else { 160.0 }),
            jittered(500, 300.0, |nth| 20_000.0 + 40.0 * nth as f64),
            jittered(500, 5000.0, |nth| 20_000.0 + 2_500.0 * ((nth / 250) as f64)),
            jittered(500, 300.0, |nth| {
                20_000.0 + 10_000.0 * (nth as f64 / 20.0).sin()
            }),
            jittered(20, 300.0, |nth| if nth < 10 { 20_000.0 } else { 50_000.0 }),
        ] {
            assert_eq!(delay_levels(&series(&rtts, Some(20_000_000))), []);
        }
        assert_eq!(delay_levels(&EchoSeries::default()), []);
    }

    #[test]
    fn jitter_of_any_kind_is_seldom_a_level() {
        let shapes: [fn(f64) -> f64; 3] = [
            |u| 10_000.0 - 2_000.0 * u.ln(),
            |u| 10_000.0 + 500.0 * u.powf(-0.5),
            |u| 20.0 + 5.0 * u.powf(-0.66),
        ];
        let mut random = SplitMix64::new(7);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        for shape in shapes {
            for correlation in [0.0, 0.8] {
                let found = (0..300).filter(|_| {
                    let mut state = uniform();
                    let rtts: Vec<f64> = (0..500)
                        .map(|_| {
                            if uniform() >= correlation {
                                state = uniform();
                            }
                            shape(state)
                        })
                        .collect();
                    !delay_levels(&series(&rtts, Some(20_000_000))).is_empty()
                });
                let share = found.count() as f64 / 300.0;
                assert!(share <= 0.01, "{correlation}: {share}");
            }
        }
    }
}
