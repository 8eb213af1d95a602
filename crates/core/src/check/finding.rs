//! What was found by several tests of one host.

use crate::plan::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckFindingCode {
    /// An end was too busy to measure.
    HostBusy,
    /// Nothing passed for a time.
    Outage,
    /// Datagrams at a modest rate are lost.
    Loss,
    /// Packets of full size are lost without a word.
    MtuBlackHole,
    /// The server cannot be reached over one of the host's address families.
    FamilyBroken,
    /// Load delays everything else.
    Bufferbloat,
    /// One flow gets less than several, and not because of the network's rate.
    SingleFlow,
    /// A rate that the server allows limits the test.
    ServerLimit,
    /// What exceeds a rate is dropped.
    Policer,
    /// Others use the network, or the server, at the same time.
    OthersTraffic,
    /// One of the host's address families is slower than the other.
    FamilySlower,
    /// The path MTU is smaller than that of this machine's link.
    SmallMtu,
    /// A test could not be carried out.
    NotMeasured,
    /// The load did not fill the path, so that its queues were not tested.
    NoGrade,
}

/// What a finding means for the whole.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingWeight {
    /// Something is wrong.
    Problem,
    /// It cannot be told whether something is wrong.
    Doubt,
    /// Worth knowing.
    Note,
}

/// What was found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckFinding {
    /// The stable name, for programs.
    pub code: CheckFindingCode,
    /// What it means for the whole.
    pub weight: FindingWeight,
    /// The direction concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// What was found, with the figures of this check.
    pub finding: String,
    /// What to do; empty where nothing needs to be done.
    pub remedy: String,
}
