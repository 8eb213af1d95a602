//! The subject of an export out of the store.

use caudal_core::run::Run;
use caudal_experiment::Trial;
use caudal_experiment::findings::Findings;
use caudal_store::{SampleSeries, Store, StoredItem};

use super::stored_study::{ExportError, stored_findings, stored_trials};
use super::subject::ExportSubject;
use crate::document::RunDocument;

/// The subject of an export out of the store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredSubject {
    /// A run by itself with its raw samples.
    Run(Box<Run>, Vec<SampleSeries>),
    /// A trial of a study.
    Trial(Box<Trial>),
    /// A study with its trials.
    Study(Box<Findings>, Vec<Trial>),
}

impl StoredSubject {
    /// The subject of this id or beginning of an id.
    ///
    /// # Errors
    /// When the store has none, or it cannot be read.
    pub fn load(store: &Store, id: &str) -> Result<Self, ExportError> {
        match store.find(id)? {
            StoredItem::Run(run) => Ok(match RunDocument::try_from(&run.document)? {
                RunDocument::Run(document) => Self::Run(document, run.series),
                RunDocument::Trial(trial) => Self::Trial(trial),
            }),
            StoredItem::Study(study) => {
                let trials = stored_trials(store, &study)?;
                let findings = stored_findings(&study, &trials)?;
                Ok(Self::Study(Box::new(findings), trials))
            }
        }
    }

    /// The subject to be exported.
    #[must_use]
    pub fn as_subject(&self) -> ExportSubject<'_> {
        match self {
            Self::Run(run, series) => ExportSubject::Run(run, series),
            Self::Trial(trial) => ExportSubject::Trial(trial),
            Self::Study(findings, trials) => ExportSubject::Study(findings, trials),
        }
    }
}
