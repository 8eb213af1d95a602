//! The measurements of a phase of a test of latency under load.

use crate::workload::bulk::BulkOutcome;
use crate::workload::rtt::RttOutcome;
use caudal_core::episode::Episode;
use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::QualityPlan;
use caudal_core::quality::{ConnectProbe, SenderQueue};
use caudal_core::text::ExternalText;
use std::time::Duration;

/// The measurements of a phase.
#[derive(Debug, Clone)]
pub struct QualityOutcome {
    /// The plan both ends held.
    pub plan: QualityPlan,
    /// The changes the server made to it.
    pub changed: Vec<ExternalText>,
    /// Outages and programs that stood still.
    pub episodes: Vec<Episode>,
    /// The load; `None` in the idle phase, and when it carried nothing.
    pub load: Option<BulkOutcome>,
    /// The UDP echo; `None` when no reply came.
    pub udp: Option<RttOutcome>,
    /// The TCP echo on a connection of its own; `None` when no reply came.
    pub tcp: Option<RttOutcome>,
    /// The requests on new connections.
    pub connects: Vec<ConnectProbe>,
    /// The backlog of this machine's interface towards the server.
    pub client_queue: Option<SenderQueue>,
    /// The backlog of the server's interface towards this machine.
    pub server_queue: Option<SenderQueue>,
    /// The start of the phase, ns of the monotonic clock.
    pub start_ns: u64,
    /// The duration of the phase.
    pub elapsed: Duration,
    /// The resources this machine used.
    pub client_usage: Usage,
    /// The resources the server used; `None` when it did not report.
    pub server_usage: Option<Usage>,
    /// The reason why the phase ended before its plan did.
    pub cut_short: Option<CutShort>,
}
