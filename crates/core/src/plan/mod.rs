//! Tests with nothing left open: both ends hold the same plan.
//!
//! A workload has a plan type of its own ([`TcpPlan`], [`UdpPlan`], [`EchoPlan`], [`QualityPlan`]); [`Plan`] is any of them, and
//! [`PlanRecord`] is how documents and messages write one down.

mod acceptance;
mod bulk;
mod datagram_sizes;
mod echo;
mod error;
mod limits;
mod message_sizes;
pub mod nanoseconds;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its type, Plan"
)]
mod plan;
mod quality;
mod record;
mod tcp;
mod terms;
mod ticks;
mod udp;

pub use acceptance::{AcceptanceError, check_accepted};
pub use bulk::BulkPlan;
pub use datagram_sizes::DatagramSizes;
pub use echo::{EchoPlan, EchoSchedule};
pub use error::{PlanError, Quantity};
pub use limits::*;
pub use message_sizes::{MessageSizes, MessageSizesError};
pub use plan::Plan;
pub use quality::{MIN_PHASE, PROBE_BYTES, PhaseLoad, PlannedPhase, ProbePeriods, QualityPlan};
pub use record::{PlanKind, PlanRecord, RecordError};
pub use tcp::TcpPlan;
pub use terms::{Direction, Directions, Omit, Pacing, PlannedFlow, Rate, TestEnd, Transport};
pub use ticks::Ticks;
pub use udp::UdpPlan;
