//! One file transfer as a document carries it.

use super::end::TransferEnd;
use crate::plan::PlanRecord;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One file transfer: its plan, and what both ends counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferRecord {
    /// The plan that both ends held.
    pub plan: PlanRecord,
    /// The changes that the server made to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ExternalText>,
    /// The client's end.
    pub client: TransferEnd,
    /// The server's end; absent when it did not report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<TransferEnd>,
    /// The time from the start to the end at the client, s.
    pub elapsed_s: f64,
    /// The reason why the transfer did not complete, or why its content is not the sender's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
    /// The reason why it was ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}
