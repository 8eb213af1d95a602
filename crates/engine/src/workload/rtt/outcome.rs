//! The measurements of a round-trip test.

use caudal_analysis::echo::EchoRecord;
use caudal_core::episode::Episode;
use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::EchoPlan;
use caudal_core::sample::{FlowEnd, Granted};
use caudal_core::text::ExternalText;
use std::time::Duration;

/// One connection after a round-trip test.
#[derive(Debug, Clone)]
pub struct RttConnection {
    /// Its number, from 0.
    pub client: u32,
    /// The time the TCP handshake took; `None` over UDP.
    pub connect_time: Option<Duration>,
    /// The settings the kernel granted this end.
    pub granted: Granted,
    /// The final report of the server's end; `None` when it did not report.
    pub server: Option<FlowEnd>,
    /// The reason why it ended before its time.
    pub failure: Option<ExternalText>,
}

/// The measurements of a round-trip test.
#[derive(Debug, Clone)]
pub struct RttOutcome {
    /// The plan both ends held.
    pub plan: EchoPlan,
    /// The changes the server made to it.
    pub changed: Vec<ExternalText>,
    /// Every connection.
    pub connections: Vec<RttConnection>,
    /// The round-trip times.
    pub record: EchoRecord,
    /// The reason why the kernel took no timestamps, where it did not.
    pub timestamps_missing: Option<String>,
    /// Outages and programs that stood still.
    pub episodes: Vec<Episode>,
    /// The time the messages took to exchange.
    pub elapsed: Duration,
    /// The resources this machine used.
    pub client_usage: Usage,
    /// The resources the server used; `None` when it did not report.
    pub server_usage: Option<Usage>,
    /// The reason why the test ended before its plan did.
    pub cut_short: Option<CutShort>,
}
