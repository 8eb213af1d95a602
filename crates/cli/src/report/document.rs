//! A document out of the store, as the type it was made from.

use caudal_core::run::Run;
use caudal_experiment::Trial;
use serde::Deserialize;
use serde_json::Value;

/// A document out of the store.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum StoredDocument {
    /// A trial of a study.
    Trial(Box<Trial>),
    /// A run by itself.
    Run(Box<Run>),
}

impl StoredDocument {
    /// The document as its type; `None` for one that is neither.
    #[must_use]
    pub fn parse(document: &Value) -> Option<Self> {
        Self::deserialize(document).ok()
    }
}
