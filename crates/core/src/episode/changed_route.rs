//! A change of the route by which an end sends to the other.

use super::episode::Episode;
use super::kind::EpisodeKind;
use crate::text::ExternalText;
use serde::{Deserialize, Serialize};

/// A change of the route by which an end sends to the other, as the tables of its kernel have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedRoute {
    /// The time at which it was seen, s after the start of the test.
    pub at_s: f64,
    /// The route until then, such as "by eth0 through 192.0.2.1".
    pub before: ExternalText,
    /// The route from then on.
    pub after: ExternalText,
}

impl ChangedRoute {
    /// The episode at an end called `end`, such as "this host".
    #[must_use]
    pub fn episode(&self, end: &str) -> Episode {
        Episode {
            kind: EpisodeKind::RouteChanged,
            from_s: self.at_s,
            to_s: Some(self.at_s),
            direction: None,
            evidence: format!(
                "that of {end}: {} until then, {} since",
                self.before, self.after
            ),
        }
    }
}
