//! Tests with nothing left open: both ends hold the same plan.
//!
//! A workload has a plan type of its own ([`TcpPlan`], [`UdpPlan`], [`EchoPlan`], [`QualityPlan`], [`TransferPlan`], [`TrainsPlan`]);
//! [`Plan`] is any of them, and [`PlanRecord`] is how documents and messages write one down.

mod archive;
mod bulk;
mod check;
mod connect;
mod datagram_sizes;
mod echo;
mod error;
mod file_name;
mod limits;
mod message_sizes;
pub mod nanoseconds;
mod plan;
mod quality;
mod record;
mod record_keys;
mod stamp;
mod tcp;
mod terms;
mod ticks;
mod trains;
mod transfer;
mod udp;
mod workload_plan;
mod workloads;

pub use archive::{FileArchive, MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES};
pub use bulk::{BulkPlan, BulkPlanRecord};
pub use check::CheckPlanRecord;
pub use connect::{ConnectPlan, ConnectPlanRecord};
pub use datagram_sizes::DatagramSizes;
pub use echo::{EchoPlan, EchoSchedule, RttPlanRecord};
pub use error::{PlanError, Quantity};
pub use file_name::{FileNameError, check_file_name, file_name, name_bytes};
pub use limits::*;
pub use message_sizes::{MessageSizes, MessageSizesError};
pub use quality::{
    MIN_PHASE, PROBE_BYTES, PhaseLoad, PlannedPhase, ProbePeriods, QualityPlan, QualityPlanRecord,
};
pub use record_keys::RecordError;
pub use stamp::{MAX_STAMP_PACKETS, StampPlan, StampPlanRecord};
pub use tcp::TcpPlan;
pub use terms::{Direction, Directions, Omit, Pacing, PlannedFlow, Rate, TestEnd, Transport};
pub use ticks::Ticks;
pub use trains::{
    MAX_SERIES_DATAGRAMS, MAX_TIMED_DATAGRAMS, MAX_TRAIN_DATAGRAM, PathPlanRecord, PlannedTrains,
    TrainSeries, TrainSpacing, TrainsPlan, train_burst,
};
pub use transfer::{
    ArqMode, BULK_WRITE_BYTES, DEFAULT_PACKET_BYTES, FileIdentity, FilePlanRecord, FileProtocol,
    MAX_PACKET_BYTES, MAX_WRITE_BYTES, RESUME_UNIT_BYTES, RbtTransfer, SendTier,
    TcpTransferSettings, TransferContent, TransferPlan, TransferSink, TransferVia,
};
pub use udp::UdpPlan;
pub use workloads::{Plan, PlanKind, PlanRecord};
