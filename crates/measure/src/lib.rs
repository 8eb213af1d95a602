//! A measurement as it is asked for, and what becomes of it: one typed request per command, and the run that it ends in.
//!
//! A request is data. [`TestPeer::connect`] finds the other end, the request's `prepare` fits it to the path, and its `measure` carries it out
//! as often as it asks for. Who watches is told by way of [`Observer`]. Nothing here prints, and nothing here knows a flag.
#![forbid(unsafe_code)]

mod bulk_recorder;
mod capture_findings;
mod check;
mod connect;
mod control;
mod error;
mod file;
mod measured;
mod observation;
mod path;
mod path_mtu;
mod quality;
mod rtt;
mod stamp;
mod test_peer;
mod throughput;

pub use bulk_recorder::SummaryOptions;
pub use caudal_engine::{ArchiveMember, UnreadMember, leads_within};
pub use check::{CheckObserver, CheckRequest, MeasuredCheck, ProbedPathRequest};
pub use connect::{ConnectRequest, is_of_this_host};
pub use control::{MeasureControl, Observer, SilentObserver};
pub use error::MeasureError;
pub use file::{
    FileCell, FileContent, FileDestination, FileRequest, MeasuredTransfers, RunPart, TransferPlace,
};
pub use measured::{MeasuredRun, RunEnding};
pub use observation::{CaptureFileRequest, ObservationRequest, OffloadRequest};
pub use path::{EndsRequest, FlowsRequest, PathRequest, WindowTestRequest};
pub use path_mtu::{
    SMALL_DATAGRAM, black_hole, fitting_payload, is_black_hole, lost_in_black_hole,
};
pub use quality::{PhaseRequest, QualityPhases, QualityRequest, SlowLink, ViaTarget};
pub use rtt::{MeasuredRtt, RttRequest};
pub use stamp::{MeasuredStamp, StampRequest};
pub use test_peer::{PeerRequest, ServerChoice, TestPeer};
pub use throughput::{
    BulkRequest, DatagramLength, DirectionGoodputs, MAX_RUNS, RateSearchRequest, Repetitions,
    ThroughputRequest, UdpRequest,
};
