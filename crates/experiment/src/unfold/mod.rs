//! Unfolding an experiment file into its cases: everything is filled in and checked that needs no network.

mod baseline;
mod campaign;
mod case;
mod check_expressions;
mod check_names;
mod condition;
mod error;
mod filler;
mod flow;
mod key_locations;
mod matrix;
mod network;
mod quick;
mod stop_rule;
mod testbed;

pub use error::ExperimentError;
pub use filler::fill_parameters;
pub use flow::DEFAULT_MESSAGES;
