//! A bulk transfer over TCP.

use super::bulk::{BulkPlan, BulkPlanRecord, check_congestion};
use super::error::{PlanError, Quantity, check_range};
use super::limits::MAX_BLOCK;
use super::record_keys::{RecordError, congestion_name, known};
use super::terms::{PlannedFlow, Transport};
use super::workload_plan::WorkloadPlan;

/// A bulk transfer over TCP with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpPlan {
    /// Directions, flows, end and rate; `length` is the block handed to one send.
    pub bulk: BulkPlan,
    /// The maximum segment size asked for.
    pub mss: Option<u32>,
    /// The congestion control asked for.
    pub congestion: Option<String>,
    /// `true` when Nagle's algorithm is off.
    pub no_delay: bool,
    /// `true` when flows are opened as Multipath TCP.
    pub mptcp: bool,
    /// `true` when the receiver drops payload inside the kernel.
    pub discard: bool,
    /// `true` when the sender hands over pages instead of copying.
    pub zero_copy: bool,
    /// Whether connections ask for ECN; `None` leaves it to the client's kernel.
    pub ask_ecn: Option<bool>,
}

impl TcpPlan {
    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        check_range(Quantity::Length, &self.bulk.length, &1, &MAX_BLOCK)?;
        self.bulk.check()?;
        if let Some(mss) = self.mss {
            check_range(Quantity::Mss, &mss, &88, &65_495)?;
        }
        check_congestion(self.congestion.as_deref())
    }
}

impl From<&TcpPlan> for BulkPlanRecord {
    fn from(plan: &TcpPlan) -> Self {
        Self {
            transport: Some(Transport::Tcp),
            mss: Some(plan.mss),
            congestion: Some(plan.congestion.as_deref().map(Into::into)),
            no_delay: Some(plan.no_delay),
            mptcp: Some(plan.mptcp),
            discard: Some(plan.discard),
            zero_copy: Some(plan.zero_copy),
            ask_ecn: plan.ask_ecn,
            ..Self::from(&plan.bulk)
        }
    }
}

impl TryFrom<&BulkPlanRecord> for TcpPlan {
    type Error = RecordError;

    fn try_from(record: &BulkPlanRecord) -> Result<Self, RecordError> {
        Ok(Self {
            bulk: BulkPlan::try_from(record)?,
            mss: record.mss.flatten(),
            congestion: congestion_name(&record.congestion),
            no_delay: known(record.no_delay, "no_delay")?,
            mptcp: known(record.mptcp, "mptcp")?,
            discard: known(record.discard, "discard")?,
            zero_copy: known(record.zero_copy, "zero_copy")?,
            ask_ecn: record.ask_ecn,
        })
    }
}
impl WorkloadPlan for TcpPlan {
    fn check(&self) -> Result<(), PlanError> {
        self.check()
    }

    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    fn workload_name(&self) -> &'static str {
        "a bulk transfer over TCP"
    }

    fn at_server(&self) -> String {
        format!("TCP {}", self.bulk.at_server())
    }

    fn flows(&self) -> Vec<PlannedFlow> {
        self.bulk.flows().collect()
    }
}
