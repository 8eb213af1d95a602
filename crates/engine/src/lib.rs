//! Traffic: the sockets and threads that carry out a plan, as a client or as a server.
//!
//! A [`peer::Peer`] is the other end of a test, whatever protocol it speaks. A workload (module `workload`) is a kind of test: what it
//! needs of its sockets, threads and final reports. Both use the one data path of module `flow`.
#![forbid(unsafe_code)]

mod address_validation;
mod admission;
mod capture;
mod client_refusal;
mod error;
mod flow;
mod host;
mod identity;
mod interrupt;
mod link_reading;
pub mod machine;
mod memory;
mod network;
mod offload;
mod opening;
mod options;
pub mod peer;
mod protocol;
pub mod record;
pub mod server;
mod session_limits;
mod socket;
mod stop;
mod target;
mod transfer;
mod wakeup;
mod watch;
mod workload;

pub use admission::{Admission, ClientSlot};
pub use capture::{CapturedTraffic, TestCapture, TestCaptureError, TestCaptureRequest};
pub use client_refusal::ClientRefusal;
pub use error::{RunError, Unsupported};
pub use flow::LimitReached;
pub use host::describe_host;
pub use identity::{StartedRun, TOOL, new_run_id, this_tool};
pub use link_reading::LinkReader;
pub use memory::{MemoryBudget, MemoryExhausted};
pub use network::{Network, NetworkError};
pub use offload::{OffloadError, OffloadGuard, restore_offloads};
pub use options::{EchoLocalOptions, LocalOptions, TcpLocalOptions, TransferLocalOptions};
pub use protocol::{PORT, Protocol};
pub use server::{Server, ServerOptions};
pub use session_limits::SessionLimits;
pub use target::{AddressFamily, LocalBinding, Target};
pub use transfer::{PreparedContent, ServedDirectory, StoreDirectory, TransferFileError};
pub use watch::StopReason;
pub use workload::{
    BulkOutcome, EchoConnection, EchoOutcome, Outcome, QualityOutcome, TrainsOutcome,
    TransferOutcome,
};
