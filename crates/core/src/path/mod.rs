//! What probing a path found: hops, links with their capacities, path MTU and routes.

mod cost;
mod hop;
mod link;
mod mtu;
mod report;
mod round;
mod route;

pub use cost::{ProbingCost, ProbingMeans};
pub use hop::{HopAnswering, PathHop};
pub use link::{NarrowPathLink, PathLink, PathLinkClass, StatementConfidence};
pub use mtu::{MtuEvidence, PathMtu};
pub use report::{HostAnswer, PathReport, PathTarget};
pub use round::{PathPhase, PathRound};
pub use route::{RouteChange, RouteCount};
