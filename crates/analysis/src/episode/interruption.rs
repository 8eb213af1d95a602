//! An outage, or a program that stood still, as what limited a direction.

use caudal_core::bottleneck::{Cause, LimitedBy};
use caudal_core::episode::{Episode, EpisodeKind};
use caudal_core::plan::Direction;

/// Minimum share of a measured part for an interruption to be what limited it.
const MIN_SHARE: f64 = 0.05;
/// Minimum part of an outage in which an interface was down for that to be its cause.
const MIN_OVERLAP: f64 = 0.4;

/// What limited a direction that was measured from `from_s` to `until_s`, where episodes took a share of that time worth naming.
#[must_use]
pub fn interruption(
    episodes: &[Episode],
    direction: Direction,
    from_s: f64,
    until_s: f64,
) -> Option<LimitedBy> {
    let concerns = |episode: &&Episode| {
        episode.direction.is_none_or(|one| one == direction)
            && episode.kind.limit(direction).is_some()
    };
    let overlap = |episode: &Episode| episode.overlap_s(from_s, until_s);
    let concerned: Vec<&Episode> = episodes.iter().filter(concerns).collect();
    let longest = concerned
        .iter()
        .max_by(|a, b| overlap(a).total_cmp(&overlap(b)))?;
    let lasted_s: f64 = concerned.iter().map(|episode| overlap(episode)).sum();
    let share = lasted_s / (until_s - from_s).max(f64::EPSILON);
    if share < MIN_SHARE {
        return None;
    }
    let (limit, cause) = longest.kind.limit(direction)?;
    let others = match concerned.iter().filter(|one| overlap(one) > 0.0).count() {
        0 | 1 => String::new(),
        several => format!(", the longest of {several} such times"),
    };
    let interface = match cause {
        Cause::Outage => interface_down(episodes, longest),
        _ => None,
    };
    let because = interface.map_or_else(String::new, |one| format!(", as {}", one.evidence));
    Some(LimitedBy {
        limit,
        cause: Some(cause),
        evidence: format!(
            "{}{others}{because}: {:.0} % of the time",
            longest.text(),
            share.min(1.0) * 100.0
        ),
    })
}

/// The interface of an end that was down in much of the time that a path was silent for: afterwards TCP still waits for its timer.
fn interface_down<'e>(episodes: &'e [Episode], outage: &Episode) -> Option<&'e Episode> {
    let until_s = outage.to_s.unwrap_or(f64::MAX);
    let overlap = |one: &Episode| one.overlap_s(outage.from_s, until_s);
    let down = episodes
        .iter()
        .filter(|one| one.kind == EpisodeKind::InterfaceDown);
    let longest = down.max_by(|a, b| overlap(a).total_cmp(&overlap(b)))?;
    let lasts = longest.is_open() && outage.is_open();
    (lasts || overlap(longest) >= MIN_OVERLAP * outage.length_s()).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::bottleneck::Bottleneck;

    fn episode(kind: EpisodeKind, from_s: f64, to_s: Option<f64>) -> Episode {
        Episode {
            kind,
            from_s,
            to_s,
            direction: None,
            evidence: "evidence".to_owned(),
        }
    }

    #[test]
    fn an_outage_is_that_of_an_interface_that_was_down_in_it() {
        let silent = episode(EpisodeKind::PathSilent, 3.0, Some(4.5));
        let evidence = |from_s: f64, to_s: f64| {
            let down = episode(EpisodeKind::InterfaceDown, from_s, Some(to_s));
            let by = interruption(&[silent.clone(), down], Direction::Up, 0.0, 7.0);
            by.unwrap().evidence
        };
        assert_eq!(
            evidence(3.1, 4.2),
            "no answer from 3.0 to 4.5 s, as evidence: 21 % of the time"
        );
        assert_eq!(
            evidence(4.1, 4.4),
            "no answer from 3.0 to 4.5 s: 21 % of the time"
        );
    }

    #[test]
    fn an_interruption_limits_the_directions_that_it_concerns() {
        let found = |episodes: &[Episode], direction| {
            let by = interruption(episodes, direction, 0.0, 10.0)?;
            Some((by.limit, by.cause))
        };
        let silent = [episode(EpisodeKind::PathSilent, 4.0, Some(6.0))];
        let outage = Some((Bottleneck::Network, Some(Cause::Outage)));
        assert_eq!(found(&silent, Direction::Up), outage);
        let stopped = [episode(EpisodeKind::PeerStopped, 4.0, Some(6.0))];
        let stood_still = |limit| Some((limit, Some(Cause::Stopped)));
        assert_eq!(
            found(&stopped, Direction::Up),
            stood_still(Bottleneck::Receiver)
        );
        assert_eq!(
            found(&stopped, Direction::Down),
            stood_still(Bottleneck::Sender)
        );
        let down = [Episode {
            direction: Some(Direction::Down),
            ..silent[0].clone()
        }];
        assert_eq!(found(&down, Direction::Up), None);
        let short = [episode(EpisodeKind::PathSilent, 4.0, Some(4.4))];
        assert_eq!(found(&short, Direction::Up), None);
    }
}
