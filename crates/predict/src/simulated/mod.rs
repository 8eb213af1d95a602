//! Predictions by simulation, for questions that have one by formula as well.

mod half_duplex;
mod network;
mod share;
mod value;

pub use half_duplex::simulate_half_duplex;
pub use share::simulate_sharing;
pub(crate) use value::simulated_value;
