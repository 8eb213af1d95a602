//! The document of a recorded run as the value it was made from.

use caudal_core::run::Run;
use caudal_experiment::Trial;
use caudal_store::StoredDocument;

/// The document of a recorded run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunDocument {
    /// A run by itself.
    Run(Box<Run>),
    /// A trial of a study.
    Trial(Box<Trial>),
}

/// A trial whose document is not one that this version reads.
#[derive(Debug, thiserror::Error)]
#[error("the document of the trial cannot be read: {0}")]
pub struct UnreadableTrial(#[from] serde_json::Error);

impl TryFrom<&StoredDocument> for RunDocument {
    type Error = UnreadableTrial;

    fn try_from(document: &StoredDocument) -> Result<Self, UnreadableTrial> {
        Ok(match document {
            StoredDocument::Run(run) => Self::Run(run.clone()),
            StoredDocument::Trial(text) => Self::Trial(serde_json::from_str(text)?),
        })
    }
}
