//! The options of the summary of a round-trip test.

/// The settings by which round trips are summarised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EchoSummaryOptions {
    /// The confidence of the intervals, between 0 and 1.
    pub confidence: f64,
    /// `true` when each series' first message counts with the others.
    pub include_first: bool,
}
