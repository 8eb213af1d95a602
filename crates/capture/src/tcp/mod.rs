//! TCP connections followed segment by segment, both directions.

mod classify;
mod connection;
mod document;
mod gaps;
mod half;
mod location;
mod opening;
mod path_mtu;
mod segment;
mod segmentation;
mod stamps;
mod unacked;
mod unanswered;

pub(crate) use connection::TcpTracker;
pub(crate) use half::TcpHalf;
pub(crate) use path_mtu::{PathMtuWatch, ReportedMtu};
pub(crate) use segment::{SegmentOutcome, TrackedSegment};
