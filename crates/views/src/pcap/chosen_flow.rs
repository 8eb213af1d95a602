//! The flow of a capture that is shown.

use caudal_capture::CapturedFlow;

/// A flow, and why it was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenFlow {
    /// The flow.
    pub flow: CapturedFlow,
    /// The reason; empty for one that was asked for.
    pub why: String,
}

impl ChosenFlow {
    /// The flow in words, with the reason for its choice.
    #[must_use]
    pub fn title(&self) -> String {
        let flow = &self.flow;
        let why = if self.why.is_empty() {
            String::new()
        } else {
            format!(", {}", self.why)
        };
        let application = flow.application.map(|one| format!(", {one}"));
        format!(
            "flow {}{why}: {} {} > {}{}",
            flow.number,
            flow.transport,
            flow.client,
            flow.server,
            application.unwrap_or_default()
        )
    }
}
