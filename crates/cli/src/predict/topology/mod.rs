//! `caudal predict topology`: flows over a test network, by formula and by simulation.

mod args;
mod command;

pub use args::PredictTopologyArgs;
pub(super) use command::predict;
