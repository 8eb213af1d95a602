//! `caudal predict topology`: flows over a test network, by formula and by simulation.

mod args;
mod command;
mod comparison;
mod drops;
mod flow_predictions;
mod json;
mod link_predictions;
mod report;
mod seeded_runs;
mod simulate_error;
mod simulated_values;
mod text;
mod topology_flow;

pub use args::PredictTopologyArgs;
pub(super) use command::predict;
