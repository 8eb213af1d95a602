//! Graphs of one flow over time.

use super::ladder::FrameDirection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A graph of one flow.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GraphKind {
    /// Sequence numbers over time with acknowledgements and the window's edge, as tcptrace draws them.
    TimeSequence,
    /// Payload and goodput over time.
    Throughput,
    /// Round-trip times over time, by acknowledgements and by timestamps.
    Rtt,
    /// Bytes in flight over time.
    Inflight,
    /// Advertised windows over time.
    Window,
}

/// The series of one graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowGraph {
    /// The graph.
    pub kind: GraphKind,
    /// The number of the flow.
    pub flow: u64,
    /// The unit of the vertical axis: `B`, `bit/s` or `µs`.
    pub unit: String,
    /// Its series.
    pub series: Vec<GraphSeries>,
}

/// One series of points of a graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphSeries {
    /// What it shows, such as `segments`, `acknowledged`, `window`, `retransmissions`, `goodput`.
    pub name: String,
    /// The way of the frames it is about.
    pub direction: FrameDirection,
    /// Its points in the order of time. Of more points than are kept, every 2nd, 4th, 8th, … is left.
    pub points: Vec<GraphPoint>,
    /// The number of samples each point stands for.
    pub stride: u64,
}

/// A point of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GraphPoint {
    /// Time after the first frame of the flow, s.
    pub time_s: f64,
    /// The value in the graph's unit.
    pub value: f64,
}

/// A name that no graph has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no graph: use time-sequence, throughput, rtt, inflight or window")]
pub struct UnknownGraph(String);

impl GraphKind {
    /// Every graph.
    pub const ALL: [Self; 5] = [
        Self::TimeSequence,
        Self::Throughput,
        Self::Rtt,
        Self::Inflight,
        Self::Window,
    ];

    /// The name for command lines and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TimeSequence => "time-sequence",
            Self::Throughput => "throughput",
            Self::Rtt => "rtt",
            Self::Inflight => "inflight",
            Self::Window => "window",
        }
    }
}

impl fmt::Display for GraphKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for GraphKind {
    type Err = UnknownGraph;

    fn from_str(text: &str) -> Result<Self, UnknownGraph> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| UnknownGraph(text.to_owned()))
    }
}
