//! Captures of packets explained: pcap and pcapng to flows, analyses and findings.
//!
//! Pure: the caller reads files and hands over their bytes, piece by piece. [`CaptureAnalysis`] takes them and gives a
//! [`CaptureReport`].
#![forbid(unsafe_code)]

mod analysis;
mod bins;
mod bytes;
mod copies;
mod decimated;
mod detail;
mod dissect;
mod ends;
mod error;
mod evidence;
mod filter;
mod flow;
mod fragments;
mod frame_rate;
mod model;
mod options;
mod push_runs;
mod read;
mod responses;
mod size_counter;
mod sketch;
mod tcp;
mod udp;
mod write;

pub use analysis::{CaptureAnalysis, CaptureReport};
pub use detail::FlowDetail;
pub use ends::{EndsError, EndsRecorder, compare_ends};
pub use error::CaptureError;
pub use filter::{CaptureFilter, UnknownCondition};
pub use model::*;
pub use options::{AnalysisOptions, FlowSelector};
pub use read::{CapturedFrame, FrameOrigin, FrameReader, GsoKind, GsoRecord, LinkType};
pub use write::{InterfaceDescription, InterfaceStatistics, PcapngEncoder, WrittenFrame};
