//! What every workload's plan tells of its test.

use super::error::PlanError;
use super::terms::{PlannedFlow, Transport};
use std::time::Duration;

/// What every workload's plan tells of its test.
pub(super) trait WorkloadPlan {
    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    fn check(&self) -> Result<(), PlanError>;

    /// The protocol under test.
    fn transport(&self) -> Transport;

    /// The workload as messages name it.
    fn workload_name(&self) -> &'static str;

    /// The test in a line, as its server tells it.
    fn at_server(&self) -> String;

    /// The flows.
    fn flows(&self) -> Vec<PlannedFlow>;

    /// The number of data sockets each end opens.
    fn sockets(&self) -> u32 {
        self.flows().len() as u32
    }

    /// The time that answers of a peer may take beyond the usual while the test runs.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }
}
