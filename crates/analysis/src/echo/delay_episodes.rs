//! The times in which the round trips of scheduled messages were far longer than usual, as where other traffic fills a queue.

use super::record::EchoSeries;
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_stats::{nearest_rank, poisson_tail, repetition};

/// Minimum time by which a round trip exceeds the usual one, µs, and in interquartile ranges of all.
const MIN_EXCESS_US: f64 = 1000.0;
const MIN_EXCESS_SPREADS: f64 = 10.0;
/// Numbers of messages in a row: a wake-up of either host delays one, and independent delays come in short rows at times.
const MESSAGES_IN_ROW: std::ops::RangeInclusive<usize> = 2..=5;
/// Maximum probability of as many rows by independent delays.
const MAX_BY_CHANCE: f64 = 0.002;
/// Maximum part of the messages in episodes: beyond it nothing is usual.
const MAX_SHARE: f64 = 0.3;
/// Maximum part of an excess that this host's own lateness explains.
const MAX_OWN: f64 = 0.5;
/// Minimum number of messages.
const MIN_SERIES: usize = 50;

/// Messages in a row with long round trips.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DelayEpisode {
    /// The first message.
    pub(super) first: usize,
    /// The last message.
    pub(super) last: usize,
    from_s: f64,
    to_s: f64,
    max_us: f64,
}

impl DelayEpisode {
    const fn messages(&self) -> usize {
        self.last + 1 - self.first
    }
}

/// The delay episodes of a series on a schedule, in their order; none without a schedule.
pub(super) fn delay_episodes(series: &EchoSeries) -> Vec<DelayEpisode> {
    if series.departures.len() != series.replies.len() || series.replies.len() < MIN_SERIES {
        return Vec::new();
    }
    let us = |nth: usize| series.replies[nth].ns().map(|ns| ns as f64 / 1e3);
    let mut answered: Vec<f64> = (0..series.replies.len()).filter_map(us).collect();
    answered.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| nearest_rank(&answered, part).unwrap_or(0.0);
    let (usual_us, spread_us) = (at(0.5), at(0.75) - at(0.25));
    let min_us = usual_us + MIN_EXCESS_US.max(MIN_EXCESS_SPREADS * spread_us);
    let is_long = |nth: usize| {
        let late_us = series.departures[nth].late_ns as f64 / 1e3;
        us(nth).is_some_and(|us| us >= min_us && late_us <= MAX_OWN * (us - usual_us))
    };
    let mut episodes: Vec<DelayEpisode> = Vec::new();
    let (mut nth, mut long) = (0, 0);
    while nth < series.replies.len() {
        let length = (nth..series.replies.len())
            .take_while(|nth| is_long(*nth))
            .count();
        long += length;
        if length >= *MESSAGES_IN_ROW.start() {
            let due_s = |nth: usize| series.departures[nth].intended_ns as f64 / 1e9;
            let last = nth + length - 1;
            episodes.push(DelayEpisode {
                first: nth,
                last,
                from_s: due_s(nth),
                to_s: due_s(last) + us(last).unwrap_or(0.0) / 1e6,
                max_us: (nth..=last).filter_map(us).fold(0.0, f64::max),
            });
        }
        nth += length.max(1);
    }
    let share = long as f64 / series.replies.len() as f64;
    let min_length = MESSAGES_IN_ROW.into_iter().find(|length| {
        let rows = episodes
            .iter()
            .filter(|one| one.messages() >= *length)
            .count();
        let by_chance = series.replies.len() as f64 * share.powi(*length as i32);
        rows > 0
            && poisson_tail(rows as u64, by_chance).is_some_and(|chance| chance <= MAX_BY_CHANCE)
    });
    episodes.retain(|one| min_length.is_some_and(|min| one.messages() >= min));
    let within: usize = episodes.iter().map(DelayEpisode::messages).sum();
    if within as f64 > MAX_SHARE * series.replies.len() as f64 {
        episodes.clear();
    }
    episodes
}

/// The delay episodes of a series as one episode of the test; `None` without any.
#[must_use]
pub fn delay_episode(series: &EchoSeries, confidence: f64) -> Option<Episode> {
    let episodes = delay_episodes(series);
    let (first, last) = (episodes.first()?, episodes.last()?);
    let max_ms = episodes.iter().map(|one| one.max_us).fold(0.0, f64::max) / 1e3;
    let begins: Vec<f64> = episodes.iter().map(|one| one.from_s).collect();
    let times = match (episodes.len(), repetition(&begins, confidence)) {
        (1, _) => String::new(),
        (count, Some(every)) => format!(
            ", {count} times, one every {:.2} s ({:.0} % CI {:.2}–{:.2} s)",
            every.period,
            confidence * 100.0,
            every.low,
            every.high
        ),
        (count, None) => format!(", {count} times"),
    };
    Some(Episode {
        kind: EpisodeKind::Delay,
        from_s: first.from_s,
        to_s: Some(last.to_s),
        direction: None,
        evidence: format!("round trips of up to {max_ms:.2} ms{times}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::record::{Departure, Reply};
    use super::*;
    use caudal_stats::random::SplitMix64;

    /// Messages every 20 ms with these round trips in µs; 0 is a loss.
    fn series(rtts_us: &[f64]) -> EchoSeries {
        let reply = |us: &f64| match *us {
            us if us <= 0.0 => Reply::LOST,
            us => Reply::after((us * 1e3) as u64),
        };
        let departure = |nth: usize| Departure {
            intended_ns: nth as u64 * 20_000_000,
            late_ns: 0,
            one_way: None,
        };
        EchoSeries {
            replies: rtts_us.iter().map(reply).collect(),
            departures: (0..rtts_us.len()).map(departure).collect(),
            ..EchoSeries::default()
        }
    }

    #[test]
    fn bursts_of_other_traffic_are_episodes_that_repeat() {
        // Every 0.7 s a queue of 39 ms drains.
        let rtts: Vec<f64> = (0..500)
            .map(|nth| match nth % 35 {
                5 => 39_000.0,
                6 => 19_000.0,
                _ => 18.0 + (nth % 7) as f64,
            })
            .collect();
        let found = delay_episode(&series(&rtts), 0.95).unwrap();
        assert_eq!(found.kind, EpisodeKind::Delay);
        assert!((found.from_s - 0.1).abs() < 1e-9);
        assert_eq!(
            found.evidence,
            "round trips of up to 39.00 ms, 15 times, one every 0.70 s (95 % CI 0.70–0.70 s)"
        );
    }

    #[test]
    fn single_long_round_trips_and_those_that_this_host_delayed_are_none() {
        let single: Vec<f64> = (0..500)
            .map(|nth| if nth % 50 == 9 { 40_000.0 } else { 20.0 })
            .collect();
        assert_eq!(delay_episodes(&series(&single)), []);
        let stalled: Vec<f64> = (0..500)
            .map(|nth| if nth / 4 == 50 { 40_000.0 } else { 20.0 })
            .collect();
        let mut stalled = series(&stalled);
        assert_eq!(delay_episodes(&stalled).len(), 1);
        for departure in &mut stalled.departures[200..204] {
            departure.late_ns = 39_000_000;
        }
        assert_eq!(delay_episodes(&stalled), []);
        // Half of the messages are not unusual.
        let half: Vec<f64> = (0..500)
            .map(|nth| if nth % 100 < 45 { 40_000.0 } else { 20.0 })
            .collect();
        assert_eq!(delay_episodes(&series(&half)), []);
        assert_eq!(delay_episodes(&EchoSeries::default()), []);
    }

    #[test]
    fn jitter_of_any_kind_is_seldom_an_episode() {
        let mut random = SplitMix64::new(7);
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let shapes: [fn(f64) -> f64; 3] = [
            |u| 10_000.0 - 2_000.0 * u.ln(),
            |u| 10_000.0 + 500.0 * u.powf(-0.5),
            |u| 20.0 + 5.0 * u.powf(-0.66),
        ];
        for shape in shapes {
            let found = (0..1000).filter(|_| {
                let rtts: Vec<f64> = (0..500).map(|_| shape(uniform())).collect();
                !delay_episodes(&series(&rtts)).is_empty()
            });
            let share = found.count() as f64 / 1000.0;
            assert!(share <= 0.01, "{share}");
        }
    }
}
