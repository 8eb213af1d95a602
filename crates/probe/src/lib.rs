//! Probes of a path, and what their readings say: hops, routes, path MTU, capacities, available bandwidth and duplex.
//!
//! [`prober`] sends and waits. Everything else is handed readings and says what they show, with an interval, or why they show nothing
//! ([`CannotTell`]), and which readings would help.
#![forbid(unsafe_code)]

pub mod available_bandwidth;
mod cannot_tell;
pub mod duplex;
pub mod end_to_end;
pub mod flow_answers;
pub mod hop_capacity;
mod line_fit;
pub mod mark_probe;
pub mod narrow_capacity;
pub mod prober;
mod rate_estimate;

pub use cannot_tell::CannotTell;
pub use rate_estimate::{Confidence, RateEstimate};
