//! The measurements of a test of the connection rate.

use caudal_analysis::connect::{ConnectConditions, ConnectTally};
use caudal_core::connect::ConnectServer;
use caudal_core::episode::Episode;
use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::ConnectPlan;
use caudal_core::text::ExternalText;
use std::sync::Arc;
use std::time::Duration;

/// The measurements of a test of the connection rate.
#[derive(Debug, Clone)]
pub struct ConnectOutcome {
    /// The plan both ends held.
    pub plan: ConnectPlan,
    /// What answered at the port.
    pub server: ConnectServer,
    /// The changes the server made to the plan.
    pub changed: Vec<ExternalText>,
    /// The attempts, added up.
    pub tally: Arc<ConnectTally>,
    /// The server's own count of the connections that it answered; `None` when it did not report.
    pub answered: Option<u64>,
    /// The duration.
    pub elapsed: Duration,
    /// The conditions at this end.
    pub conditions: ConnectConditions,
    /// The text of the last failure that has one.
    pub last_failure: Option<ExternalText>,
    /// Outages, and times in which a program stood still.
    pub episodes: Vec<Episode>,
    /// The resources this machine used.
    pub client_usage: Usage,
    /// The resources the server used; `None` when it did not report.
    pub server_usage: Option<Usage>,
    /// The reason why it ended before its plan did.
    pub cut_short: Option<CutShort>,
}
