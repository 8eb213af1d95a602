//! The findings and trials of a recorded study.

use crate::document::{RunDocument, UnreadableTrial};
use caudal_core::date::rfc3339;
use caudal_experiment::findings::{CasePredictions, Findings, StudyHeader};
use caudal_experiment::{Campaign, ExperimentFile, Trial, Variant};
use caudal_store::{Store, StoreError, StoredStudy};
use serde::Deserialize;

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

/// The trials of a study, in the order of execution.
///
/// # Errors
/// When they cannot be read.
pub fn stored_trials(store: &Store, study: &StoredStudy) -> Result<Vec<Trial>, ExportError> {
    let mut trials = Vec::new();
    for run in store.trials(&study.id)? {
        if let RunDocument::Trial(trial) = RunDocument::try_from(&run.document)? {
            trials.push(*trial);
        }
    }
    Ok(trials)
}

/// The findings of a study: the last that were recorded or, of a study that was killed, those of its trials so far.
///
/// # Errors
/// When they cannot be read, and when there are none.
pub fn stored_findings(study: &StoredStudy, trials: &[Trial]) -> Result<Findings, ExportError> {
    let mut events = study.events.iter().rev();
    let recorded = events.find(|(_, event, _)| event == "findings");
    match recorded {
        Some((_, _, findings)) => {
            Findings::deserialize(findings).map_err(|cause| ExportError::UnreadableFindings {
                id: study.id.clone(),
                cause,
            })
        }
        None => findings_so_far(study, trials).ok_or_else(|| ExportError::NoFindings {
            id: study.id.clone(),
        }),
    }
}

/// The part of a recorded campaign that its experiment does not have.
#[derive(Debug, Default, Deserialize)]
struct RecordedCampaign {
    /// `true` for the quick variant.
    #[serde(default)]
    quick: bool,
}

/// The findings of the trials of a study that did not end; `None` where its experiment cannot be read.
fn findings_so_far(study: &StoredStudy, trials: &[Trial]) -> Option<Findings> {
    let file = ExperimentFile::deserialize(&study.experiment).ok()?;
    let recorded = RecordedCampaign::deserialize(&study.campaign).unwrap_or_default();
    let mut campaign = Campaign::unfold(&file, Variant::Full).ok()?;
    campaign.quick = recorded.quick;
    let header = StudyHeader {
        id: study.id.clone(),
        name: study.name.clone(),
        started: rfc3339(u64::try_from(study.started_ns).unwrap_or(0)),
        command: study.command.clone(),
        environment: study.environment.clone(),
        complete: false,
        warnings: vec![
            "the study did not end: these are the findings of its trials so far".to_owned(),
        ],
    };
    let predictions = trials.iter().map(|trial| {
        let predictions = CasePredictions {
            predicted: trial.predicted.clone(),
            ..CasePredictions::default()
        };
        (trial.case.clone(), predictions)
    });
    let predictions = predictions.collect();
    Some(Findings::assemble(&campaign, &header, trials, &predictions))
}
