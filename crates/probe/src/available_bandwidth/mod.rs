//! The available bandwidth from trends of one-way delays (self-loading periodic streams).
//!
//! A stream above the available bandwidth fills a queue, and the delays of its packets grow; one below does not. Source: Jain and
//! Dovrolis, "End-to-End Available Bandwidth: Measurement Methodology, Dynamics, and Relation with TCP Throughput", 2003; thresholds
//! are those of pathload 1.3.2.

mod delay_stream;
mod fleet;
mod rate_search;
mod stream_shape;

pub use delay_stream::{DelayStream, DelayTrend, TrendStatistics};
pub use fleet::{FleetOutcome, fleet_outcome};
pub use rate_search::{AvailableBandwidth, RateSearch, SearchPrecision};
pub use stream_shape::StreamShape;
