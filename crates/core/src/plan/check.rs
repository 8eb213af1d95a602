//! Several tests of one host.

use super::record_keys::PlanKeys;
use super::terms::Transport;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was asked of several tests of one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckPlanRecord {
    /// The host as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// `true` for the short variant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick: Option<bool>,
    /// The flows of the tests with several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// The bytes that all tests together may move; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl PlanKeys for CheckPlanRecord {
    fn peer(&self) -> Option<&ExternalText> {
        self.peer.as_ref()
    }

    fn set_peer(&mut self, address: ExternalText) {
        self.peer = Some(address);
    }

    fn transport(&self) -> Option<Transport> {
        None
    }
}
