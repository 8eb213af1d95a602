//! Traffic: the sockets and threads that carry out a plan, as a client or as a server.
//!
//! A [`peer::Peer`] is the other end of a test, whatever protocol it speaks. A workload (module `workload`) is a kind of test: what it
//! needs of its sockets, threads and final reports. Both use the one data path of
//! `caudal-flow`.
#![forbid(unsafe_code)]
// Much of what is read here a peer wrote: no number of its may end a session.
#![warn(clippy::indexing_slicing)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, reason = "a test that fails may panic")
)]

pub mod admission;
mod client_refusal;
mod mtu_search;
mod network;
mod options;
mod own_interface;
mod own_wait;
mod path_mtu;
pub mod peer;
mod reduced_plan;
pub mod server;
mod workload;

pub use admission::{Admission, ClientSlot};
pub use caudal_flow::{
    AddressFamily, FlowSurvey, LimitReached, LocalBinding, MemoryBudget, MemoryExhausted, RunError,
    SessionLimits, SurveyedFlow, Target, TransferFileError, Unsupported,
};
pub use caudal_host::{
    CapturedTraffic, LinkReader, OffloadError, OffloadGuard, StartedRun, TOOL, TestCapture,
    TestCaptureError, TestCaptureRequest, describe_host, machine, new_run_id, restore_offloads,
    this_tool,
};
pub use caudal_transfer::{
    ArchiveMember, MAX_READ_BEFORE, PreparedContent, ServedDirectory, StoreDirectory, UnreadMember,
    leads_within,
};
pub use caudal_wire::protocol::{PORT, Protocol};
pub use client_refusal::ClientRefusal;
pub use network::{Network, NetworkError};
pub use options::{EchoLocalOptions, LocalOptions, TcpLocalOptions, TransferLocalOptions};
pub use server::{Server, ServerOptions};
pub use workload::{
    BulkOutcome, ConnectOutcome, Outcome, QualityOutcome, RttConnection, RttOutcome,
    SessionProgress, TrainsOutcome, TransferOutcome, connect_to_port, flow_records,
    socket_settings,
};
