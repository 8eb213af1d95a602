//! A simulated value as a prediction.

use caudal_core::prediction::{Method, Prediction, Tolerance};
use caudal_core::quantity::Unit;

/// A simulated value as a prediction, with the assumptions of the simulation.
pub(crate) fn simulated_value(name: &str, title: &str, value: f64, unit: Unit) -> Prediction {
    let mut prediction = Prediction::new(name, title, value, unit)
        .assumes(
            "hosts as in docs/simulation.md: they take no time, and have no queue of their own",
        )
        .source("caudal-simulate: segments and frames in virtual time")
        .within(Tolerance::symmetric(0.05))
        .step(format!("simulated: {}", unit.show(value)));
    prediction.method = Method::Simulation;
    prediction
}
