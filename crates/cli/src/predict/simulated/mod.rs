//! Predictions by simulation, for questions that have one by formula as well.

mod half_duplex;
mod network;
mod share;
mod value;

pub(super) use half_duplex::simulate_half_duplex;
pub(super) use share::simulate_sharing;
pub(super) use value::simulated_value;
