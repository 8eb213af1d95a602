//! What limited the rate at which connections opened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What limited the rate at which connections opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectLimit {
    /// The schedule that was asked for: every connection began when it was due.
    Schedule,
    /// The local ports of this host towards one address and port.
    EphemeralPorts,
    /// SYNs or SYN-ACKs that were sent again after a second: loss, or a listen queue that overflows.
    LostSyns,
    /// The processors of the host on which both ends run.
    HostProcessor,
    /// The processor of the client.
    ClientProcessor,
    /// The processor of the server.
    ServerProcessor,
    /// The round trips of the path that each connection waits for.
    RoundTrips,
    /// Each connection waits for the one before it.
    OneAtATime,
    /// Cannot tell.
    Unknown,
}

/// What limited the rate, with the reason as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectLimitReport {
    /// The limit.
    pub limit: ConnectLimit,
    /// The observation that shows it.
    pub reason: String,
}
