//! The campaign of a study as the store has it.

use std::collections::BTreeMap;

use caudal_experiment::Case;
use serde::{Deserialize, Serialize};

use crate::source::ExperimentSource;
use crate::testbed::HostAddress;

/// The campaign of a study as the store has it: everything that is needed to resume the study.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredCampaign {
    /// The source of the experiment.
    pub source: ExperimentSource,
    /// The hosts that replace the network of the experiment.
    pub hosts: Option<BTreeMap<String, HostAddress>>,
    /// `true` for the quick variant.
    #[serde(default)]
    pub quick: bool,
    /// The cases, for readers of the store; they are unfolded again when the study is resumed.
    #[serde(default, skip_deserializing)]
    pub cases: Vec<Case>,
}
