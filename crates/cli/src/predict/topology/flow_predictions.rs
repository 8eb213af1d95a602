//! The predictions of one flow, by formula and as simulated.

use super::seeded_runs::SeededRuns;
use caudal_core::prediction::Prediction;
use caudal_predict::topology::FlowPrediction;

/// The predictions of the flow at an index by formula and as simulated, with names that end in its number.
pub(super) fn flow_predictions(
    index: usize,
    forecast: &FlowPrediction,
    runs: &SeededRuns,
) -> Vec<Prediction> {
    let mut predictions = forecast.predictions.clone();
    predictions.extend(runs.values(index, &forecast.predictions));
    for prediction in &mut predictions {
        prediction.name = format!("{}_{}", prediction.name, index + 1);
    }
    predictions
}
