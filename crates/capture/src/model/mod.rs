//! What the analysis of a capture results in: the values that are printed, drawn and written as documents.

mod application;
mod direction;
mod ends;
mod flow;
mod graph;
mod ladder;
mod messages;
mod segmentation;
mod summary;
mod tcp;
mod tcp_direction;
mod udp;

pub use application::RecognisedProtocol;
pub use caudal_core::finding::{Finding, FindingCode, FindingSeverity};
pub use direction::{CapturedDirection, DscpFrames, EcnFrames};
pub use ends::{ClockBetweenEnds, EndsComparison, EndsDirection, MiddleChange, MiddleChangeKind};
pub use flow::{CapturedEnd, CapturedFlow, CapturedTransport, FlowRoles};
pub use graph::{FlowGraph, GraphKind, GraphPoint, GraphSeries, UnknownGraph};
pub use ladder::{FrameDirection, Ladder, LadderStep};
pub use messages::{CapturedRtt, PushRunSize, PushRuns, ResponseSize, ResponseTimes};
pub use segmentation::{Offload, SegmentSizeSource, SegmentationAnalysis};
pub use summary::{
    CaptureFile, CaptureFormat, CaptureInterface, CaptureSummary, CaptureTotals, FoldedFlows,
    PCAP_SCHEMA, ProtocolTotals,
};
pub use tcp::{
    CaptureLocation, CapturePoint, HandshakeKind, TcpAnalysis, TcpEnding, TcpEndingKind,
    TcpHandshake, TcpOffer,
};
pub use tcp_direction::{
    RateBins, RetransmissionCounts, TcpDirectionAnalysis, TcpEcnCounts, TcpWindowCounts,
};
pub use udp::{DatagramNumbers, DatagramSizeRange, UdpAnalysis, UdpDirectionAnalysis};
