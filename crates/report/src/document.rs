//! Runs as the store has them: the document of one as the value it was made from, and a test of another tool's log.

use caudal_core::date::rfc3339;
use caudal_core::run::Run;
use caudal_experiment::Trial;
use caudal_import::ImportedRun;
use caudal_store::{StoredDocument, StoredRun};

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

/// An imported run as it is stored, with the date of its log or else `modified_ns` (ns since 1970).
#[must_use]
pub fn stored_import(mut imported: ImportedRun, modified_ns: i64) -> StoredRun {
    let started_ns = imported.started_ns.unwrap_or(modified_ns).max(0);
    imported.run.header.started = rfc3339(started_ns.unsigned_abs());
    StoredRun {
        title: imported.title.map(Into::into),
        ..StoredRun::new(imported.run, started_ns, imported.outcome)
    }
}
