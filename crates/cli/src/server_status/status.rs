//! What a server tells of its state.

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The name and version of the document's format.
pub(super) const SCHEMA: &str = "caudal.server/1";

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// The format, `caudal.server/1`.
    pub schema: String,
    /// The address and port it listens on.
    pub address: SocketAddr,
    /// Its age, s.
    pub up_s: f64,
    /// Tests that were completed.
    pub completed: u64,
    /// Clients that were refused.
    pub refused: u64,
    /// Its clients.
    pub sessions: Vec<SessionStatus>,
}

/// The state of a client's session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Its protocol and number.
    pub name: String,
    /// The client's address and port.
    pub peer: Option<SocketAddr>,
    /// The test, such as `tcp download`; empty before one is agreed on.
    pub test: String,
    /// The time since the test was agreed on, s.
    pub elapsed_s: f64,
    /// Payload bytes of all of its tests that arrived here.
    pub received_bytes: u64,
    /// Payload bytes of all of its tests that left here.
    pub sent_bytes: u64,
    /// Payload that arrived in the latest second, bit/s.
    pub received_bps: f64,
    /// Payload that left in it, bit/s.
    pub sent_bps: f64,
}
