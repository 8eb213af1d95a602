//! What one end of a TCP connection sent.

use super::messages::{CapturedRtt, PushRuns};
use super::segmentation::SegmentationAnalysis;
use caudal_core::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one end of a TCP connection sent. Counts are of captured frames, unless `segmentation` says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpDirectionAnalysis {
    /// Frames with payload.
    pub data_frames: u64,
    /// Frames without payload, SYN, FIN or RST.
    pub pure_acks: u64,
    /// Payload without what was sent again: how far the sequence numbers came, less what was not captured.
    pub unique_bytes: ByteCount,
    /// Payload of which the capture holds no frame although later bytes were sent: lost before this point, or not captured.
    pub missing_bytes: ByteCount,
    /// The rate of the payload, from 20 frames on: that of n frames in n - 1 gaps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_rate_bps: Option<BitRate>,
    /// The rate of the payload without repetitions, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<BitRate>,
    /// Frames and wire segments, and what offloads did to them.
    pub segmentation: SegmentationAnalysis,
    /// The payload between two PSH flags: what the application wrote, as far as TCP shows it.
    pub messages: PushRuns,
    /// Segments sent again, by cause.
    pub retransmissions: RetransmissionCounts,
    /// Segments that arrived later than others sent after them.
    pub out_of_order: u64,
    /// Gaps: segments whose predecessor was not captured.
    pub previous_not_captured: u64,
    /// Acknowledgements by this end of bytes that were never captured.
    pub acked_not_captured: u64,
    /// Duplicate acknowledgements that this end sent.
    pub duplicate_acks: u64,
    /// Frames of this end with SACK blocks (RFC 2018).
    pub sack_frames: u64,
    /// SACK blocks in them.
    pub sack_blocks: u64,
    /// Duplicate SACKs among them: something arrived twice (RFC 2883).
    pub duplicate_sacks: u64,
    /// The window that this end advertised, and what became of it.
    pub window: TcpWindowCounts,
    /// ECN at the level of TCP.
    pub ecn: TcpEcnCounts,
    /// The most bytes that were sent and not acknowledged at one time, seen from where it was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight_bytes: Option<ByteCount>,
    /// From a segment of this end to its acknowledgement: the share of the round trip beyond the capture. Segments sent again give none
    /// (Karn). Delayed acknowledgements are part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_rtt: Option<CapturedRtt>,
    /// From a timestamp of this end to its first echo (RFC 7323 section 4): the same share, also with losses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp_rtt: Option<CapturedRtt>,
    /// Frames whose checksum is still that of the pseudo-header: captured on the sending host before the device completed it.
    pub partial_checksums: u64,
    /// Bytes over time.
    pub rate: RateBins,
    /// The longest time in which this end sent no payload between two frames that did, s.
    pub max_idle_s: f64,
}

/// Segments sent again, by Wireshark's definitions; `docs/captures.md` gives the differences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetransmissionCounts {
    /// After duplicate acknowledgements.
    pub fast: u64,
    /// After at least the retransmission timeout without progress: 200 ms, or the initial RTT where it is longer.
    pub timeout: u64,
    /// Of bytes that had been acknowledged before.
    pub spurious: u64,
    /// Others: recovery led by SACK or RACK, tail loss probes.
    pub other: u64,
    /// Payload sent again.
    pub bytes: ByteCount,
}

impl RetransmissionCounts {
    /// All segments sent again.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.fast + self.timeout + self.spurious + self.other
    }
}

/// The window that one end advertised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpWindowCounts {
    /// The smallest window in bytes outside of SYN and RST, scaled where the scale is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<ByteCount>,
    /// The largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<ByteCount>,
    /// `false` when the handshake was not captured: the windows are then those of the header, unscaled.
    pub scale_known: bool,
    /// Frames of this end that advertise no window.
    pub zero_windows: u64,
    /// Frames of the other end that fill this window.
    pub filled: u64,
    /// Acknowledgements of this end that only change the window.
    pub updates: u64,
    /// Probes of the other end into this end's window of zero.
    pub zero_window_probes: u64,
    /// Keep-alives that this end sent.
    pub keep_alives: u64,
}

/// ECN at the level of TCP (RFC 3168 section 6.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpEcnCounts {
    /// Frames with ECN-Echo, the handshake's not counted.
    pub ece: u64,
    /// Frames with Congestion Window Reduced, the handshake's not counted.
    pub cwr: u64,
}

/// Bytes over time in a bounded number of bins, all of one width, which doubles whenever they do not suffice.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateBins {
    /// The beginning of the first bin after the first frame of the capture, s.
    pub start_s: f64,
    /// The width of a bin, s.
    pub bin_s: f64,
    /// Payload in each bin, repetitions included.
    pub payload_bytes: Vec<u64>,
    /// Payload without repetitions in each bin.
    pub unique_bytes: Vec<u64>,
}
