//! Predictions by simulation, for questions that have one by formula as well.

mod half_duplex;
mod network;
mod share;

pub use half_duplex::simulate_half_duplex;
pub(crate) use network::simulated_value;
pub use share::simulate_sharing;
