//! One hop of a path.

use crate::text::ExternalText;
use caudal_stats::DistributionSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// How a hop answers probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HopAnswering {
    /// It answers.
    Answers,
    /// It answers at a limited rate.
    RateLimited,
    /// It does not answer, though hops beyond it or the host do.
    Silent,
    /// Neither it nor anything beyond it answers.
    NothingFromHere,
}

impl HopAnswering {
    /// The way of answering for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answers => "answers",
            Self::RateLimited => "rate-limited",
            Self::Silent => "silent",
            Self::NothingFromHere => "nothing from here",
        }
    }
}

/// Round-trip times of a hop, ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HopTimes {
    /// The minimum.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The maximum.
    pub max: f64,
}

/// One hop of a path: a router, or the host at its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathHop {
    /// The TTL at which packets end there.
    pub ttl: u8,
    /// How it answers.
    pub answering: HopAnswering,
    /// The address it answers probes of the measured flow from; the latest where it changed, absent where it does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The name of that address; absent where it has none, or names were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ExternalText>,
    /// The addresses that other flows met at this hop.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_addresses: Vec<IpAddr>,
    /// Probes sent, without those that were too large for the path.
    pub probes: u64,
    /// Those that were not answered in time.
    pub unanswered: u64,
    /// The time between two probes that it answered reliably, ms; where its rate is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_interval_ms: Option<f64>,
    /// Round-trip times of the smallest probes, ms; absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<DistributionSummary>,
    /// Round-trip times as another tool's log sums them up, ms; absent where this program measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_rtt_ms: Option<HopTimes>,
    /// The hops its answers took back, from their TTL; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_hops: Option<u8>,
}

impl PathHop {
    /// A hop of which nothing is known.
    #[must_use]
    pub const fn unknown(ttl: u8) -> Self {
        Self {
            ttl,
            answering: HopAnswering::NothingFromHere,
            address: None,
            name: None,
            other_addresses: Vec::new(),
            probes: 0,
            unanswered: 0,
            answer_interval_ms: None,
            rtt_ms: None,
            reported_rtt_ms: None,
            return_hops: None,
        }
    }

    /// The round-trip times, as measured or as another tool's log has them; `None` without an answer.
    #[must_use]
    pub fn times_ms(&self) -> Option<HopTimes> {
        let measured = self.rtt_ms.map(|rtt| HopTimes {
            min: rtt.min,
            mean: rtt.mean,
            max: rtt.max,
        });
        measured.or(self.reported_rtt_ms)
    }

    /// The part of the probes that was not answered, from 0 to 1; `None` without probes, and for a hop that limits its answers: those that
    /// it left out were not lost.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.probes > 0 && self.answering != HopAnswering::RateLimited)
            .then(|| self.unanswered as f64 / self.probes as f64)
    }
}
