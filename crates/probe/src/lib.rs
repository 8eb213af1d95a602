//! What the readings of probes say of a path: the capacity of each hop, the narrow link, the available bandwidth and duplex. Pure.
//!
//! Nothing here sends or waits. Whoever probes hands readings over and is told what they show, with an interval, or why they show
//! nothing ([`CannotTell`]), and which readings would help.
#![forbid(unsafe_code)]

pub mod available_bandwidth;
mod cannot_tell;
mod confidence;
pub mod duplex;
pub mod hop_capacity;
mod line_fit;
pub mod narrow_capacity;
mod rate_estimate;
mod sorted;

pub use cannot_tell::CannotTell;
pub use confidence::Confidence;
pub use rate_estimate::RateEstimate;
