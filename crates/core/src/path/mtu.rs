//! The path MTU.

use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What shows where packets become too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MtuEvidence {
    /// Packets as large as the link of this machine takes arrive.
    WholeMtu,
    /// A router says which size it takes (ICMP "fragmentation needed", ICMPv6 "packet too big").
    Icmp,
    /// Larger packets are not answered, and smaller ones are: a router that drops them says nothing.
    Unanswered,
}

/// The size of the largest packet that crosses the path unfragmented.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathMtu {
    /// The size, IP header included.
    pub bytes: ByteCount,
    /// The MTU of this machine's link, which is the largest that is possible.
    pub local_bytes: ByteCount,
    /// The TTL of the farthest hop it was measured to.
    pub to_ttl: u8,
    /// What shows it.
    pub evidence: MtuEvidence,
    /// The TTL of the far end of the first link that takes no more; absent where that is the link of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shrinks_before_ttl: Option<u8>,
}
