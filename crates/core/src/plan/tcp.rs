//! A bulk transfer over TCP.

use super::bulk::{BulkPlan, check_congestion};
use super::error::{PlanError, Quantity, check_range};
use super::limits::MAX_BLOCK;

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
