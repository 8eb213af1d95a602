//! A step of the wall clock of an end.

use super::episode::Episode;
use super::kind::EpisodeKind;
use serde::{Deserialize, Serialize};

/// A step of the wall clock of an end, as by an administrator or a time service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockStep {
    /// The time at which it was seen, s after the start of the test.
    pub at_s: f64,
    /// What the clock was set forward by, s.
    pub by_s: f64,
}

impl ClockStep {
    /// The episode at this host.
    #[must_use]
    pub fn episode(&self) -> Episode {
        let uses = "the test runs by the monotonic clock, dates and one-way delays by this one";
        self.of_kind(EpisodeKind::ClockStepped, uses)
    }

    /// The episode at the server.
    #[must_use]
    pub fn episode_of_server(&self) -> Episode {
        let uses = "the test runs by the monotonic clocks of both hosts";
        self.of_kind(EpisodeKind::PeerClockStepped, uses)
    }

    fn of_kind(&self, kind: EpisodeKind, uses: &str) -> Episode {
        Episode {
            kind,
            from_s: self.at_s,
            to_s: Some(self.at_s),
            direction: None,
            evidence: format!("by {:+.3} s; {uses}", self.by_s),
        }
    }
}
