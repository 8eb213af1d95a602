//! The documents of captures.

use caudal_capture::{CaptureSummary, EndsComparison, Finding, FlowGraph, Ladder};
use caudal_core::text::ExternalText;
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

/// The name and version of the document of two ends.
pub const ENDS_SCHEMA: &str = "caudal.pcap-ends/1";

/// The document of a capture, `caudal.pcap/1`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PcapDocument<'a> {
    /// The capture explained.
    #[serde(flatten)]
    pub summary: &'a CaptureSummary,
    /// The sequence diagram; with `--ladder`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<&'a Ladder>,
    /// The graph; with `--graph`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<&'a FlowGraph>,
}

/// The document of one flow captured at two ends, `caudal.pcap-ends/1`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EndsDocument<'a> {
    /// The format, `caudal.pcap-ends/1`.
    pub schema: &'a str,
    /// The first file, that of `--sender`.
    pub sender: ExternalText,
    /// The second file, that of `--receiver`.
    pub receiver: ExternalText,
    /// What the two tell together.
    #[serde(flatten)]
    pub comparison: &'a EndsComparison,
    /// The findings about the sender's capture as a whole: what it lacks may count as lost.
    pub sender_findings: &'a [Finding],
    /// The findings about the receiver's capture as a whole: what it lacks counts as lost.
    pub receiver_findings: &'a [Finding],
}

/// The JSON Schemas of both documents, by the name of their format.
#[must_use]
pub fn schemas() -> [(&'static str, Schema); 2] {
    [
        (
            caudal_capture::PCAP_SCHEMA,
            schema_for!(PcapDocument<'static>),
        ),
        (ENDS_SCHEMA, schema_for!(EndsDocument<'static>)),
    ]
}
