//! The document of a capture.

use super::application::RecognisedProtocol;
use super::flow::{CapturedFlow, CapturedTransport};
use caudal_core::finding::Finding;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name and version of the document's format.
pub const PCAP_SCHEMA: &str = "caudal.pcap/1";

/// A capture explained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSummary {
    /// The format, `caudal.pcap/1`.
    pub schema: String,
    /// The files, in the order in which their frames are numbered.
    pub files: Vec<CaptureFile>,
    /// All frames together.
    pub totals: CaptureTotals,
    /// Frames and bytes by protocol, the most bytes first. A frame counts for each protocol it holds.
    pub protocols: Vec<ProtocolTotals>,
    /// The flows with the most bytes, the most first.
    pub flows: Vec<CapturedFlow>,
    /// The other flows together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<FoldedFlows>,
    /// The findings, the most important first.
    pub findings: Vec<Finding>,
    /// Findings beyond those kept.
    pub findings_left_out: u64,
}

/// One file of a capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureFile {
    /// Its name, as the caller gave it.
    pub name: ExternalText,
    /// Its format.
    pub format: CaptureFormat,
    /// `true` when its numbers are big-endian.
    pub big_endian: bool,
    /// The interfaces it was captured on. A pcap file has one without a name.
    pub interfaces: Vec<CaptureInterface>,
    /// Its frames.
    pub frames: u64,
    /// The number of its first frame; absent without frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_frame: Option<u64>,
    /// Bytes of the file that were read.
    pub file_bytes: ByteCount,
    /// Comments on the file as a whole (pcapng `opt_comment` of the section).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comments: Vec<ExternalText>,
    /// The machine that captured (pcapng `shb_hardware`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<ExternalText>,
    /// Its operating system (pcapng `shb_os`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<ExternalText>,
    /// The program that captured (pcapng `shb_userappl`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ExternalText>,
    /// Why reading ended before the end of the file; absent when all of it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

/// The format of a file of captured frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaptureFormat {
    /// pcap with times in µs.
    PcapMicroseconds,
    /// pcap with times in ns.
    PcapNanoseconds,
    /// pcapng.
    Pcapng,
}

/// An interface that frames were captured on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureInterface {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ExternalText>,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<ExternalText>,
    /// The capture filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<ExternalText>,
    /// The number of its link type in the registry of tcpdump.org.
    pub link_type: u16,
    /// The name of its link type, such as `Ethernet`.
    pub link_name: String,
    /// The number of bytes of a frame that were kept; 0 for no limit.
    pub snap_bytes: u32,
    /// The resolution of its times, ns; below 1 for finer ones.
    pub resolution_ns: f64,
    /// Its frames.
    pub frames: u64,
    /// Frames that passed the filter (pcapng `isb_filteraccept`) or, without that, were received (`isb_ifrecv`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_frames: Option<u64>,
    /// Frames that the interface or the kernel dropped while capturing (pcapng `isb_ifdrop` and `isb_osdrop`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_frames: Option<u64>,
}

/// All frames of a capture together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureTotals {
    /// Frames.
    pub frames: u64,
    /// Their bytes as they were on the link.
    pub bytes: ByteCount,
    /// The bytes of them that the capture holds.
    pub captured_bytes: ByteCount,
    /// Frames of which a part is missing.
    pub cut_off_frames: u64,
    /// Frames left out by the filter; they are part of no other number.
    pub filtered_frames: u64,
    /// Frames whose packet was captured before, on its way through a router or bridge, by a port that copies frames, or because the way
    /// duplicated it; they are part of no other number.
    #[serde(default)]
    pub captured_twice_frames: u64,
    /// Frames that could not be read as what their headers announce.
    pub malformed_frames: u64,
    /// The earliest time, s since 1970; absent without frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_s: Option<f64>,
    /// The latest time, s since 1970; that of the last frame where the clock was set meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_s: Option<f64>,
    /// The time between them, s; where the clock was set no time counts.
    pub duration_s: f64,
    /// Flows.
    pub flows: u64,
    /// Frames the capturing hosts dropped, as far as the files record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_frames: Option<u64>,
}

/// The frames of one protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolTotals {
    /// Its name, such as `IPv4`, `TCP` or `ARP`.
    pub name: String,
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: ByteCount,
}

/// Flows that are not shown one by one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoldedFlows {
    /// Flows.
    pub flows: u64,
    /// Their frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: ByteCount,
    /// Flows by transport.
    pub transports: Vec<(CapturedTransport, u64)>,
    /// Flows by what they carry, where that is known.
    pub applications: Vec<(RecognisedProtocol, u64)>,
}
