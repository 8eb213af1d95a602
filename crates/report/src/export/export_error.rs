//! The errors of exports.

use caudal_store::StoreError;

use crate::document::UnreadableTrial;

/// The reason why a run or study cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store cannot be used, or has nothing of that id.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The document of a trial is not one that this version reads.
    #[error(transparent)]
    Trial(#[from] UnreadableTrial),
    /// The findings of a study are not those of this version.
    #[error("the findings of study {id} cannot be read: {cause}")]
    UnreadableFindings {
        /// The id of the study.
        id: String,
        /// The first key or value that is wrong.
        #[source]
        cause: serde_json::Error,
    },
    /// The study has no findings, and its experiment cannot be read.
    #[error("study {id} has no findings yet")]
    NoFindings {
        /// The id of the study.
        id: String,
    },
}
