//! The result of a test of the connection rate.

use super::attempt::ConnectFailures;
use super::interval::ConnectInterval;
use super::limit::ConnectLimitReport;
use super::times::ConnectTimes;
use crate::run::CpuReport;
use crate::text::ExternalText;
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What answers at the port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectServer {
    /// A server of caudal, which answers a request on each connection.
    #[default]
    Caudal,
    /// Any server: connections are closed once they have opened.
    TcpPort,
}

/// A server's account of a test of the connection rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectAccount {
    /// Connections that it answered.
    pub answered: u64,
}

/// The result of a test of the connection rate. A connection is completed when all its steps are: the TCP handshake, that of TLS where
/// asked for, and the answer of a server of caudal to a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectReport {
    /// What answered at the port.
    #[serde(default)]
    pub server: ConnectServer,
    /// The time that the test took, s.
    pub elapsed_s: f64,
    /// Connections that were begun and have ended.
    pub attempts: u64,
    /// Connections that were completed.
    pub completed: u64,
    /// Connections that a server of caudal answered by its own count, in which those may be that were given up at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<u64>,
    /// Those that were not, by the reason.
    pub failures: ConnectFailures,
    /// Completed connections per second; absent when no time passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<Estimate>,
    /// The time to connect: the TCP handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect: Option<ConnectTimes>,
    /// The time of the TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<ConnectTimes>,
    /// The time from the request to the first byte of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<ConnectTimes>,
    /// Connections that took a second or longer to open, as after a SYN that was sent again.
    #[serde(default)]
    pub syn_retransmitted: u64,
    /// Connections that began later than their schedule by more than the time between two.
    #[serde(default)]
    pub late: u64,
    /// What limited the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<ConnectLimitReport>,
    /// The test over time.
    #[serde(default)]
    pub intervals: Vec<ConnectInterval>,
    /// The processor time of both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuReport>,
    /// The text of the last failure that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<ExternalText>,
    /// The reason why the test ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}
