//! An episode of a test, in words, as a warning, and as what limited a direction.

use super::kind::EpisodeKind;
use crate::plan::Direction;
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

    /// `true` where a program at either end stood still for a time, which says nothing about the path.
    #[must_use]
    pub const fn is_stop(&self) -> bool {
        let is_peers = matches!(
            self.kind,
            EpisodeKind::PeerStopped | EpisodeKind::PeerStarved
        );
        self.kind.is_own() || (is_peers && !self.is_open())
    }

    /// Its length, s; infinite where it lasted to the end of the test.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.to_s.unwrap_or(f64::INFINITY) - self.from_s
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
            (EpisodeKind::PeerStarved, _) => {
                format!("the peer's program waited for a processor {when}")
            }
            (EpisodeKind::DataSilent, _) => match self.direction {
                Some(direction) => format!("{}: no payload arrived {when}", direction.in_text()),
                None => format!("no reply {when}"),
            },
            (EpisodeKind::MtuBlackHole, _) => {
                let direction = self.direction.map_or("", Direction::name);
                format!("{direction}: no full segment arrived {when}")
            }
            (EpisodeKind::RetransmissionTimeout, _) => {
                let direction = self.direction.map_or("", Direction::in_text);
                format!("{direction}: waited for a retransmission timeout {when}")
            }
            (EpisodeKind::RateLevel, _) => {
                let direction = self.direction.map_or("", Direction::in_text);
                format!("{direction}: another level {when}")
            }
            (EpisodeKind::Delay, _) => format!("delay far above the usual {when}"),
            (EpisodeKind::DelayLevel, _) => format!("another level of delay {when}"),
            (EpisodeKind::LossPeriods, _) => {
                let direction = self.direction.map_or("", Direction::in_text);
                format!("{direction}: lost together {when}")
            }
            (EpisodeKind::AnotherTest, _) => format!("another test of this server ran {when}"),
            (EpisodeKind::ProgramStopped, _) => format!("this program was stopped {when}"),
            (EpisodeKind::ProgramStarved, _) => {
                format!("this program waited for a processor {when}")
            }
            (EpisodeKind::InterfaceDown, _) => format!("an interface was down {when}"),
            (EpisodeKind::InterfaceErrors, _) => format!("frames in error {when}"),
            (EpisodeKind::InterfaceDrops, _) => {
                format!("an interface dropped what arrived {when}")
            }
            (EpisodeKind::WindowClosed, _) => {
                let direction = self.direction.map_or("", Direction::in_text);
                format!("{direction}: the receiver's window was closed {when}")
            }
            (EpisodeKind::ClockStepped, _) => {
                format!("the clock of this host was set at {from_s:.1} s")
            }
            (EpisodeKind::PeerClockStepped, _) => {
                format!("the clock of the server was set at {from_s:.1} s")
            }
            (EpisodeKind::RouteChanged, _) => format!("the route changed at {from_s:.1} s"),
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
        self.kind.warning(self.full_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_kind_of_a_newer_version_reads() {
        let text = r#"{"kind":"level_shift","from_s":1.5,"evidence":"?"}"#;
        let episode: Episode = serde_json::from_str(text).unwrap();
        assert_eq!(episode.kind, EpisodeKind::Unknown);
    }
}
