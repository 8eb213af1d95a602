//! A bulk transfer over UDP.

use super::bulk::{BulkPlan, BulkPlanRecord};
use super::datagram_sizes::DatagramSizes;
use super::error::{PlanError, Quantity, check_range};
use super::limits::{MAX_DATAGRAM, MIN_DATAGRAM};
use super::record_keys::{RecordError, known};
use super::terms::{Pacing, PlannedFlow, Transport};
use super::workload_plan::WorkloadPlan;
use crate::marks::Ecn;

/// A bulk transfer over UDP with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpPlan {
    /// Directions, flows, end and rate; `length` is the payload of a datagram.
    pub bulk: BulkPlan,
    /// `true` when the receiver compares every payload byte.
    pub verify: bool,
    /// The way senders with a rate wait for the next departure.
    pub pacing: Pacing,
    /// The ECN field to send with.
    pub ecn: Ecn,
}

impl UdpPlan {
    /// The sizes of a flow's datagrams: the flows of a direction share its bytes evenly, and the first
    /// takes the remainder.
    #[must_use]
    pub fn datagram_sizes(&self, flow: u32) -> DatagramSizes {
        let share = self.bulk.bytes().map(|bytes| {
            let flows = u64::from(self.bulk.parallel.max(1));
            let is_first = u64::from(flow) % flows == 0;
            let remainder = if is_first { bytes.get() % flows } else { 0 };
            bytes.get() / flows + remainder
        });
        DatagramSizes::new(self.bulk.length, share)
    }

    /// The same for protocols in which every datagram has the full length: the flows of a direction share
    /// as many datagrams as the bytes take.
    #[must_use]
    pub fn whole_datagrams(&self, flow: u32) -> DatagramSizes {
        let share = self.bulk.bytes().map(|bytes| {
            let datagrams = bytes.get().div_ceil(u64::from(self.bulk.length.max(1)));
            let flows = u64::from(self.bulk.parallel.max(1));
            let has_extra = u64::from(flow) % flows < datagrams % flows;
            datagrams / flows + u64::from(has_extra)
        });
        DatagramSizes::whole(self.bulk.length, share)
    }

    /// Checks every number against its range.
    ///
    /// # Errors
    /// Names the first quantity that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        let bulk = &self.bulk;
        check_range(Quantity::Length, &bulk.length, &MIN_DATAGRAM, &MAX_DATAGRAM)?;
        bulk.check()?;
        if let Some(bytes) = bulk.bytes() {
            let min = u64::from(MIN_DATAGRAM) * u64::from(bulk.parallel);
            check_range(Quantity::Bytes, &bytes.get(), &min, &u64::MAX)?;
        }
        Ok(())
    }
}

impl From<&UdpPlan> for BulkPlanRecord {
    fn from(plan: &UdpPlan) -> Self {
        Self {
            transport: Some(Transport::Udp),
            verify: Some(plan.verify),
            pacing: Some(plan.pacing),
            ecn: plan.ecn,
            ..Self::from(&plan.bulk)
        }
    }
}

impl TryFrom<&BulkPlanRecord> for UdpPlan {
    type Error = RecordError;

    fn try_from(record: &BulkPlanRecord) -> Result<Self, RecordError> {
        Ok(Self {
            bulk: BulkPlan::try_from(record)?,
            verify: known(record.verify, "verify")?,
            // The first version of the protocol has no such key, and paces precisely.
            pacing: record.pacing.unwrap_or(Pacing::Precise),
            ecn: record.ecn,
        })
    }
}
impl WorkloadPlan for UdpPlan {
    fn check(&self) -> Result<(), PlanError> {
        self.check()
    }

    fn transport(&self) -> Transport {
        Transport::Udp
    }

    fn workload_name(&self) -> &'static str {
        "a bulk transfer over UDP"
    }

    fn at_server(&self) -> String {
        format!("UDP {}", self.bulk.at_server())
    }

    fn flows(&self) -> Vec<PlannedFlow> {
        self.bulk.flows().collect()
    }
}
