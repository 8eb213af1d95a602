//! The routes that flows take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The number of routes that flows which differ in their source port take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouteCount {
    /// The flows that were traced.
    pub flows: u32,
    /// The different sequences of addresses they met.
    pub routes: u32,
    /// `true` when so many flows were traced that another route would have been met with 95 % probability, were all as likely.
    pub is_complete: bool,
}

/// A hop that answered from another address than before, in the same flow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteChange {
    /// The time, s after the first packet.
    pub at_s: f64,
    /// The TTL of the hop.
    pub ttl: u8,
    /// The address before.
    pub from: IpAddr,
    /// The address after.
    pub to: IpAddr,
}
