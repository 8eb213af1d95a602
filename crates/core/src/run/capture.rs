//! What was captured of a run, and what was changed at the interface for it.

use crate::finding::Finding;
use crate::text::ExternalText;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The capture of a run's traffic at the client's interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunCapture {
    /// The file, pcapng.
    pub file: ExternalText,
    /// The interface.
    pub interface: ExternalText,
    /// The number of bytes of a frame that were kept at most.
    pub snap_bytes: u32,
    /// The frames in the file.
    pub frames: u64,
    /// The frames that the kernel dropped, as they were not written in time: none of the findings knows of them.
    pub dropped_frames: u64,
    /// The bytes the frames in the file had, before they were cut.
    pub bytes: ByteCount,
    /// The flows; absent where the file could not be analysed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// Why it ended before the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
    /// The findings on the test's flows, as those of `caudal pcap`.
    pub findings: Vec<Finding>,
}

/// The offloads of the client's interface that were set for the time of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunOffload {
    /// The interface.
    pub interface: ExternalText,
    /// `true` where they were to be on.
    pub enabled: bool,
    /// Those that were changed, by their names in `ethtool -k`.
    pub changed: Vec<ExternalText>,
    /// Those that the driver left as they were.
    pub refused: Vec<ExternalText>,
}
