//! What probing a path found: hops, links with their capacities, path MTU and routes.

mod between_ends;
mod cost;
mod direction;
mod duplex;
mod flows;
mod hop;
mod link;
mod marks;
mod mtu;
mod report;
mod round;
mod route;
mod throughput;
mod unreached;

pub use between_ends::PathBetweenEnds;
pub use cost::{ProbingCost, ProbingMeans};
pub use direction::{
    CapacityEvidence, NarrowCapacity, PathAvailable, PathDirection, PathShaper, TokenBucketKind,
};
pub use duplex::{DuplexRun, DuplexRunKind, PathDuplex, PathDuplexMode, PathEndLink};
pub use flows::{DroppedFlow, FlowHop, PathFlows};
pub use hop::{HopAnswering, HopTimes, PathHop};
pub use link::{NarrowPathLink, PathLink, PathLinkClass, StatementConfidence};
pub use marks::{MarkChangeAt, MarkTrace, ProbeMarks, QuotedMarks};
pub use mtu::{MtuEvidence, PathMtu};
pub use report::{HostAnswer, PathReport, PathResult, PathTarget};
pub use round::{PathPhase, PathRound};
pub use route::{RouteChange, RouteCount};
pub use throughput::{
    DirectionThroughput, PathThroughput, ThroughputRun, WINDOW_SHARES, buffer_delay,
    tcp_efficiency, transfer_time_ratio,
};
pub use unreached::{PathRefusal, RoutingLoop};
