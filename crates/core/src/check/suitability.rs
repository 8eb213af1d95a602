//! What a network is good for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that people do over a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkUse {
    /// Video calls, while others load the network.
    Calls,
    /// Video in high definition from a server.
    Video,
    /// Games that react at once.
    Games,
}

impl NetworkUse {
    /// In a word or two.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calls => "video calls",
            Self::Video => "HD video",
            Self::Games => "games",
        }
    }
}

/// Whether a network is good for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Suitability {
    /// It is.
    Suited,
    /// It is as long as nothing else loads the network.
    WithoutLoad,
    /// It is not.
    Unsuited,
    /// It cannot be told.
    Unknown,
}

/// Whether a network is good for something, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UseSuitability {
    /// What it would be used for.
    pub r#use: NetworkUse,
    /// Whether it is good for that.
    pub suitability: Suitability,
    /// The figure that decides; empty where all are good.
    pub reason: String,
}
