//! Findings: what deserves attention in a capture.

use super::finding_code::FindingCode;
use super::severity::FindingSeverity;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something in a capture that deserves attention, with the frames that show it and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its stable name, for programs.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: FindingSeverity,
    /// The number of the flow; absent where it is about the capture as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<u64>,
    /// The first frames that show it, as Wireshark numbers them: from 1, over all files one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<u64>,
    /// How often it happened, all frames counted.
    pub count: u64,
    /// The finding in words, with its figures.
    pub message: ExternalText,
    /// What to do; empty where there is nothing to do.
    #[serde(default, skip_serializing_if = "ExternalText::is_empty")]
    pub remedy: ExternalText,
}

impl Finding {
    /// The number of frames that a finding names.
    pub const MAX_FRAMES: usize = 8;

    /// A finding with the severity and the remedy of its code, seen once.
    #[must_use]
    pub fn new(code: FindingCode, message: impl Into<ExternalText>) -> Self {
        Self {
            severity: code.severity(),
            remedy: code.remedy().into(),
            flow: None,
            frames: Vec::new(),
            count: 1,
            message: message.into(),
            code,
        }
    }
}
