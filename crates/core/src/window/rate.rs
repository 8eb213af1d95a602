//! The rate of a path that its window is calculated for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the rate of a path comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathRateSource {
    /// The user gave the rate of the link.
    Given,
    /// The link of the lab that connects the two hosts.
    Lab,
    /// The speed that the slower interface reports.
    Interface,
    /// The narrow link between both ends of a path, or the shaper in the way, as it was measured.
    NarrowLink,
    /// The highest delivery rate that the sender's TCP estimated, of payload.
    DeliveryRate,
    /// The payload that arrived.
    Goodput,
}

impl fmt::Display for PathRateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Given => "given",
            Self::Lab => "the lab's link",
            Self::Interface => "the interface's speed",
            Self::NarrowLink => "the narrow link",
            Self::DeliveryRate => "the highest delivery rate",
            Self::Goodput => "the goodput",
        })
    }
}
