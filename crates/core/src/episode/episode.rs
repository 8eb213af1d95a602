//! An episode of a test, in words, as a warning, and as what limited a direction.

use super::kind::EpisodeKind;
use crate::bottleneck::LimitedBy;
use crate::plan::Direction;
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Minimum share of a measured part for an interruption to be what limited it.
const MIN_SHARE: f64 = 0.05;

/// A time in which a test did not run its usual course.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Episode {
    /// What happened.
    pub kind: EpisodeKind,
    /// Its beginning, s after the start of the test.
    pub from_s: f64,
    /// Its end, s; absent where it lasted to the end of the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_s: Option<f64>,
    /// The direction; absent where it concerns the whole test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The evidence, as text.
    pub evidence: String,
}

impl Episode {
    /// `true` where it lasted to the end of the test.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.to_s.is_none()
    }

    /// Its part of the time from `from_s` to `until_s`, s.
    #[must_use]
    pub fn overlap_s(&self, from_s: f64, until_s: f64) -> f64 {
        let to_s = self.to_s.unwrap_or(f64::INFINITY);
        (to_s.min(until_s) - self.from_s.max(from_s)).max(0.0)
    }

    /// The same of a test that began `offset_s` later.
    #[must_use]
    pub fn shifted(self, offset_s: f64) -> Self {
        Self {
            from_s: self.from_s + offset_s,
            to_s: self.to_s.map(|to_s| to_s + offset_s),
            ..self
        }
    }

    /// The episode in half a sentence, such as "no answer from 3.9 s on".
    #[must_use]
    pub fn text(&self) -> String {
        let from_s = self.from_s;
        let when = match self.to_s {
            Some(to_s) => format!("from {from_s:.1} to {to_s:.1} s"),
            None => format!("from {from_s:.1} s on"),
        };
        match (self.kind, self.is_open()) {
            (EpisodeKind::PathSilent | EpisodeKind::Unknown, _) => format!("no answer {when}"),
            (EpisodeKind::PeerStopped, true) => format!("the peer's program stands still {when}"),
            (EpisodeKind::PeerStopped, false) => format!("the peer's program stood still {when}"),
            (EpisodeKind::DataSilent, _) => match self.direction {
                Some(direction) => format!("{}: no payload arrived {when}", direction.in_text()),
                None => format!("no reply {when}"),
            },
            (EpisodeKind::MtuBlackHole, _) => {
                let direction = self.direction.map_or("", Direction::name);
                format!("{direction}: no full segment arrived {when}")
            }
            (EpisodeKind::ProgramStopped, _) => format!("this program was stopped {when}"),
            (EpisodeKind::ProgramStarved, _) => {
                format!("this program waited for a processor {when}")
            }
            (EpisodeKind::HostSuspended, _) => {
                format!("this host was suspended at {from_s:.1} s")
            }
        }
    }

    /// The same with its evidence.
    #[must_use]
    pub fn full_text(&self) -> String {
        format!("{}: {}", self.text(), self.evidence)
    }

    /// The warning about it.
    #[must_use]
    pub fn warning(&self) -> Warning {
        let warning = Warning::new(self.kind.warning_code(), self.full_text());
        match self.kind {
            EpisodeKind::MtuBlackHole => warning.with_remedy(
                "a router drops what is too large without ICMP: let ICMP type 3 code 4 (ICMPv6 type 2) pass there, clamp \
                 the MSS, or set net.ipv4.tcp_mtu_probing=1 on the sending host; `caudal path` names the hop",
            ),
            EpisodeKind::ProgramStarved => {
                warning.with_remedy("measure on a machine that is less busy")
            }
            _ => warning,
        }
    }
}

/// What limited a direction that was measured from `from_s` to `until_s`, where episodes took a share of that time worth naming.
#[must_use]
pub fn interruption(
    episodes: &[Episode],
    direction: Direction,
    from_s: f64,
    until_s: f64,
) -> Option<LimitedBy> {
    let concerns = |episode: &&Episode| episode.direction.is_none_or(|one| one == direction);
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
    let (limit, cause) = longest.kind.limit(direction);
    let others = match concerned.iter().filter(|one| overlap(one) > 0.0).count() {
        0 | 1 => String::new(),
        several => format!(", the longest of {several} such times"),
    };
    Some(LimitedBy {
        limit,
        cause: Some(cause),
        evidence: format!(
            "{}{others}: {:.0} % of the time",
            longest.text(),
            share.min(1.0) * 100.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bottleneck::{Bottleneck, Cause};

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
    fn an_episode_is_told_with_its_times() {
        let open = episode(EpisodeKind::PathSilent, 3.94, None);
        assert_eq!(open.text(), "no answer from 3.9 s on");
        let closed = episode(EpisodeKind::PeerStopped, 4.0, Some(6.04));
        assert_eq!(
            closed.text(),
            "the peer's program stood still from 4.0 to 6.0 s"
        );
        assert_eq!(closed.warning().code.name(), "peer_stopped");
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

    #[test]
    fn a_kind_of_a_newer_version_reads() {
        let text = r#"{"kind":"level_shift","from_s":1.5,"evidence":"?"}"#;
        let episode: Episode = serde_json::from_str(text).unwrap();
        assert_eq!(episode.kind, EpisodeKind::Unknown);
    }
}
