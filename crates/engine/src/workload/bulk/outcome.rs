//! The measurements of a bulk transfer.

use caudal_core::arrivals::ArrivalSeries;
use caudal_core::episode::Episode;
use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::{Plan, PlannedFlow};
use caudal_core::sample::{Counters, FlowEnd, FlowRecord, Role, Sample};
use caudal_core::text::ExternalText;

/// The measurements of a bulk transfer.
#[derive(Debug, Clone)]
pub struct BulkOutcome {
    /// The plan both ends held.
    pub plan: Plan,
    /// The changes the server made to it.
    pub changed: Vec<ExternalText>,
    /// `true` when the server lowered the rate that was asked for.
    pub server_set_rate: bool,
    /// Every flow.
    pub flows: Vec<FlowRecord>,
    /// Every reading, of both ends.
    pub samples: Vec<Sample>,
    /// What arrived in each direction over time, where its receiver recorded it.
    pub arrivals: Vec<ArrivalSeries>,
    /// Outages and programs that stood still, as they were seen while it ran.
    pub episodes: Vec<Episode>,
    /// The resources this machine used.
    pub client_usage: Usage,
    /// The resources the server used; `None` when it did not report.
    pub server_usage: Option<Usage>,
    /// The reason why the test ended before its plan did.
    pub cut_short: Option<CutShort>,
}

/// The records of `flows`, from the final reports of both ends.
pub fn flow_records(flows: &[PlannedFlow], ends: &[FlowEnd]) -> Vec<FlowRecord> {
    let find = |flow: u32, role: Role| {
        ends.iter()
            .find(|end| end.flow == flow && end_role(end) == role)
            .cloned()
    };
    flows
        .iter()
        .map(|flow| {
            let end = |role| find(flow.id, role);
            FlowRecord::new(*flow, end(Role::Sender), end(Role::Receiver))
        })
        .collect()
}

const fn end_role(end: &FlowEnd) -> Role {
    match end.counters {
        Counters::Sender(_) => Role::Sender,
        Counters::Receiver(_) => Role::Receiver,
    }
}
