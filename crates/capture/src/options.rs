//! What an analysis keeps.

use crate::filter::CaptureFilter;

/// What an analysis looks at and how much of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// The frames that count.
    pub filter: CaptureFilter,
    /// The number of flows shown one by one: those with the most bytes.
    pub max_flows: usize,
    /// The number of flows that are followed at one time; of more, those that are over and those that were silent for longest
    /// are concluded. A short flow takes about 7 kB, one with thousands of
    /// segments in flight up to 500 kB.
    pub max_open_flows: usize,
    /// The number of findings.
    pub max_findings: usize,
    /// The flow whose frames are kept for a sequence diagram and graphs.
    pub detail: Option<FlowSelector>,
    /// The number of frames of the sequence diagram.
    pub max_ladder_steps: usize,
    /// The number of the frame with which the diagram begins; earlier ones are not in it.
    pub ladder_from_frame: u64,
}

impl Default for AnalysisOptions {
    /// All frames, 1000 flows of 65 536 at a time, 500 findings, a diagram of 1000 frames.
    fn default() -> Self {
        Self {
            filter: CaptureFilter::default(),
            max_flows: 1000,
            max_open_flows: 65_536,
            max_findings: 500,
            detail: None,
            max_ladder_steps: 1000,
            ladder_from_frame: 0,
        }
    }
}

/// One flow of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowSelector {
    /// By its number, from 1.
    Number(u64),
    /// The first one that a filter takes; its time does not matter.
    First(CaptureFilter),
}
