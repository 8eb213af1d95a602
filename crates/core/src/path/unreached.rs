//! What is known of a host that probes do not reach.

use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// A router, or a firewall, that says that packets do not reach the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathRefusal {
    /// The TTL of its hop; absent where it is met under another address or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
    /// Its address.
    pub address: IpAddr,
    /// The code of its ICMP or ICMPv6 message "destination unreachable".
    pub icmp_code: u8,
    /// What that says, in words.
    pub reason: ExternalText,
}

/// Routers that send packets to the host to one another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingLoop {
    /// The TTL of the first hop of the loop.
    pub first_ttl: u8,
    /// The hops of one turn.
    pub hops: u8,
    /// The addresses of these, in their order; those that do not answer are left out.
    pub addresses: Vec<IpAddr>,
}
