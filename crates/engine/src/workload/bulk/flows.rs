//! The flows of a bulk transfer, made by its transport.

use super::super::workload::OpenFlow;
use crate::options::LocalOptions;
use caudal_core::plan::{BulkPlan, Direction, TestEnd};
use caudal_core::sample::Role;
use caudal_flow::{
    FlowSet, NewFlow, PlannedEnd, RunError, SessionLimits, StopAction, TestLimit, role,
};

/// The part of a bulk transfer that depends on its transport.
pub(crate) trait BulkTasks {
    /// The size of the block that the sending flows share, bytes.
    fn shared_bytes(&self) -> u64 {
        0
    }

    /// One end of a flow, ready to be started.
    ///
    /// # Errors
    /// When this machine does not grant what it needs.
    fn new_flow(
        &mut self,
        flow: OpenFlow,
        role: Role,
        options: &LocalOptions,
    ) -> Result<NewFlow, RunError>;
}

/// The flows of one end of a bulk transfer.
pub(crate) struct BulkFlows {
    /// The settings of the transfer.
    pub(crate) bulk: BulkPlan,
    /// The direction of the first flow: of all flows at the client.
    pub(crate) direction: Direction,
    /// The flows, which start together.
    pub(crate) set: FlowSet,
}

impl BulkFlows {
    /// Starts the threads of a server's `flows`, within its limits.
    ///
    /// # Errors
    /// When this machine does not grant what they need, or the memory for clients is used up.
    pub(crate) fn spawn_limited(
        bulk: &BulkPlan,
        flows: Vec<OpenFlow>,
        tasks: &mut dyn BulkTasks,
        options: &LocalOptions,
        limits: &SessionLimits,
    ) -> Result<Self, RunError> {
        let end = match bulk.end {
            TestEnd::Time(_) => PlannedEnd::ByItself,
            TestEnd::Bytes(_) => PlannedEnd::Unknown,
        };
        let limit = TestLimit::new(limits, end);
        let mut set = FlowSet::limited(StopAction::HalfClose, Some(limit), flows.len())?;
        if flows
            .iter()
            .any(|open| open.flow.direction == Direction::Down)
        {
            set.reserve(tasks.shared_bytes())?;
        }
        Self::spawn_in(set, bulk, flows, false, tasks, options)
    }

    /// Starts the threads of `flows` in `set`.
    fn spawn_in(
        mut set: FlowSet,
        bulk: &BulkPlan,
        flows: Vec<OpenFlow>,
        is_client: bool,
        tasks: &mut dyn BulkTasks,
        options: &LocalOptions,
    ) -> Result<Self, RunError> {
        let direction = flows
            .first()
            .map_or(Direction::Up, |open| open.flow.direction);
        for (nth, flow) in flows.into_iter().enumerate() {
            let role = role(flow.flow.direction, is_client);
            let new = tasks.new_flow(flow, role, options)?;
            set.add(NewFlow {
                cpu: options.cpu(nth),
                ..new
            })?;
        }
        Ok(Self {
            bulk: bulk.clone(),
            direction,
            set,
        })
    }

    /// Starts the threads of a client's flows: those of each direction that has any, up first.
    ///
    /// # Errors
    /// When this machine does not grant what they need.
    pub(crate) fn spawn_by_direction(
        bulk: &BulkPlan,
        flows: Vec<OpenFlow>,
        new_tasks: impl Fn() -> Box<dyn BulkTasks>,
        options: &LocalOptions,
    ) -> Result<Vec<Self>, RunError> {
        let (up, down): (Vec<_>, Vec<_>) = flows
            .into_iter()
            .partition(|open| open.flow.direction == Direction::Up);
        [up, down]
            .into_iter()
            .filter(|flows| !flows.is_empty())
            .map(|flows| {
                let set = FlowSet::new(StopAction::HalfClose)?;
                Self::spawn_in(set, bulk, flows, true, &mut *new_tasks(), options)
            })
            .collect()
    }
}
