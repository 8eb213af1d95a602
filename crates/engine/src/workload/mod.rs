//! The kinds of tests. A workload is a folder here and a line in `list.rs`; both ends of a native test go through it.

mod bulk;
mod connect;
mod connection_answer;
mod elapsed;
mod limits;
mod list;
mod outcome;
mod quality;
mod rtt;
mod tcp;
mod trains;
mod transfer;
mod udp;
mod workload;

pub use bulk::BulkOutcome;
pub use bulk::flow_records;
pub use connect::{ConnectOutcome, connect_to_port};
pub use list::socket_settings;
pub use outcome::Outcome;
pub use quality::QualityOutcome;
pub use rtt::{RttConnection, RttOutcome};
pub use trains::TrainsOutcome;
pub use transfer::TransferOutcome;
pub use workload::SessionProgress;

pub(crate) use connection_answer::ConnectionAnswer;
pub(crate) use limits::ServerLimits;
pub(crate) use list::from_plan;
pub(crate) use workload::{
    ClientHalf, ClientLink, EndedDialogue, FinishedServer, OpenFlow, ServerEnding, ServerHalf,
};
