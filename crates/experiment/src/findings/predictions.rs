//! The predictions of a case, made before anything is sent.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The predictions of a case, by the full names of metrics, in base units.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CasePredictions {
    /// The predictions of formulas.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted: BTreeMap<String, f64>,
    /// The results of the simulation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub simulated: BTreeMap<String, f64>,
}
