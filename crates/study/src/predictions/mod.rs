//! Predictions of formulas and simulations for the cases of an experiment, made before anything is sent.

mod cases;
mod files;
mod formulas;
mod paths;
mod simulated_metrics;
mod simulation;
mod tcp_settings;
mod totals;

pub use cases::{predict_cases, predict_cases_by_formulas};
pub(crate) use formulas::cycle_time;
