//! Many episodes of a test: which are kept, and which are told one by one.

use super::episode::Episode;
use super::kind::EpisodeKind;
use crate::warning::Warning;

/// Maximum number of episodes of a test that are kept, the longest.
pub const MAX_EPISODES: usize = 1000;
/// Maximum number of episodes of a kind and direction with a warning each.
const MAX_TOLD: usize = 3;
/// Maximum deviation of the times between episodes from their mean for these to come regularly, as a part of it.
const MAX_IRREGULARITY: f64 = 0.1;

/// Leaves as many of some episodes as are kept, the longest, in order of time.
pub fn keep_longest(episodes: &mut Vec<Episode>) {
    if episodes.len() > MAX_EPISODES {
        episodes.sort_by(|a, b| b.length_s().total_cmp(&a.length_s()));
        episodes.truncate(MAX_EPISODES);
        episodes.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    }
}

/// The warnings about some episodes: one about each of the longest of a kind and direction, and one about all others of it.
#[must_use]
pub fn episode_warnings(episodes: &[Episode]) -> Vec<Warning> {
    let mut kinds: Vec<(EpisodeKind, Option<crate::plan::Direction>)> = Vec::new();
    for one in episodes {
        let kind = (one.kind, one.direction);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let of_kind = kinds.into_iter().flat_map(|kind| {
        let all = episodes
            .iter()
            .filter(|one| (one.kind, one.direction) == kind);
        warnings_of_kind(all.collect())
    });
    of_kind.collect()
}

fn warnings_of_kind(mut all: Vec<&Episode>) -> Vec<Warning> {
    let repetition = repetition(&all).unwrap_or_default();
    all.sort_by(|a, b| b.length_s().total_cmp(&a.length_s()));
    let others = all.split_off(MAX_TOLD.min(all.len()));
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut warnings: Vec<Warning> = all.iter().map(|one| one.warning()).collect();
    if let Some(first) = others.first() {
        let (one, several) = first.kind.names();
        let name = if others.len() == 1 { one } else { several };
        let length_s: f64 = others.iter().map(|one| one.length_s()).sum();
        warnings.push(first.kind.warning(format!(
            "and {} more {name}, {length_s:.1} s in all{repetition}; `episodes` of --json has each",
            others.len()
        )));
    }
    warnings
}

/// The time from one of more episodes than are told to the next, in order of time, where they come regularly.
fn repetition(episodes: &[&Episode]) -> Option<String> {
    let pairs = episodes.windows(2);
    let between_s: Vec<f64> = pairs.map(|two| two[1].from_s - two[0].from_s).collect();
    if between_s.len() < MAX_TOLD {
        return None;
    }
    let mean_s = between_s.iter().sum::<f64>() / between_s.len() as f64;
    let shortest_s = between_s.iter().copied().fold(f64::INFINITY, f64::min);
    let longest_s = between_s.iter().copied().fold(0.0, f64::max);
    let irregularity_s = (mean_s - shortest_s).max(longest_s - mean_s);
    (irregularity_s <= MAX_IRREGULARITY * mean_s)
        .then(|| format!(", one every {mean_s:.2} s ({shortest_s:.2}–{longest_s:.2} s)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stops(count: u32) -> Vec<Episode> {
        let stop = |nth: u32| Episode {
            kind: EpisodeKind::ProgramStopped,
            from_s: f64::from(nth),
            to_s: Some(f64::from(nth) + f64::from(nth % 7 + 1) / 10.0),
            direction: None,
            evidence: "evidence".to_owned(),
        };
        (0..count).map(stop).collect()
    }

    #[test]
    fn the_longest_are_kept_in_order() {
        let mut all = stops(3000);
        keep_longest(&mut all);
        assert_eq!(all.len(), MAX_EPISODES);
        assert!(all.is_sorted_by(|one, other| one.from_s < other.from_s));
        assert!(all.iter().all(|one| one.length_s() > 0.45));
    }

    #[test]
    fn many_of_a_kind_are_told_in_a_few_lines() {
        assert_eq!(episode_warnings(&[]), []);
        assert_eq!(episode_warnings(&stops(3)).len(), 3);
        let mut all = stops(14);
        all.push(Episode {
            kind: EpisodeKind::PathSilent,
            to_s: None,
            ..all[5].clone()
        });
        let warnings = episode_warnings(&all);
        assert_eq!(warnings.len(), 5);
        assert!(
            warnings[0]
                .message
                .to_string()
                .starts_with("this program was stopped from 5.0")
        );
        assert_eq!(
            warnings[3].message.to_string(),
            "and 11 more stops of this program, 3.6 s in all, one every 1.00 s (1.00–1.00 s); `episodes` of --json has each"
        );
        assert_eq!(warnings[4].code.name(), "outage");
        all[3].from_s += 0.2;
        let irregular = episode_warnings(&all)[3].message.to_string();
        assert!(!irregular.contains("every"), "{irregular}");
    }
}
