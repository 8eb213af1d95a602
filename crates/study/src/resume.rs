//! Studies that are resumed from the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use caudal_core::date::rfc3339;
use caudal_experiment::CasePredictions;
use caudal_store::{Store, StoredItem, StoredStudy};
use serde::Serialize;
use serde_json::json;

use crate::archive::{StudyArchive, stored_trials};
use crate::error::StudyError;
use crate::prepared::PreparedExperiment;
use crate::stored_campaign::StoredCampaign;
use crate::study::Study;
use crate::trial::ProgramCommands;

/// The details of the event that resumes a study in the store.
#[derive(Serialize)]
struct ResumedDetail {
    trials: usize,
}

impl Study {
    /// The study in the store at this path whose id begins with `id`, ready to go on: its experiment and its trials are in the
    /// store, its file is not needed. Also the names of labs that had been killed, and whose remains were removed.
    ///
    /// # Errors
    /// When there is no such study, or it cannot go on here.
    pub fn resume(
        store: &Path,
        id: &str,
        program: &dyn ProgramCommands,
    ) -> Result<(Self, Vec<String>), StudyError> {
        let mut store = Store::open(store)?;
        let stored = match store.find(id).map_err(StudyError::NotFound)? {
            StoredItem::Study(study) => *study,
            StoredItem::Run(run) => {
                return Err(StudyError::NotAStudy {
                    id: run.id.chars().take(8).collect(),
                });
            }
        };
        let other_version = |cause| StudyError::OtherVersion {
            id: stored.id.clone(),
            cause,
        };
        let campaign: StoredCampaign =
            serde_json::from_value(stored.campaign.clone()).map_err(other_version)?;
        let prepared = PreparedExperiment::new(campaign.source, campaign.hosts)?;
        let trials = stored_trials(&store, &stored.id)?;
        let removed = prepared.check_requirements(program)?;
        let detail = ResumedDetail {
            trials: trials.len(),
        };
        // A store that cannot be written is noticed with the next trial.
        let _ = store.record_event(&stored.id, "resumed", &json!(detail));
        let mut warnings = Vec::new();
        let cases = prepared.campaign.cases.iter();
        let known: BTreeSet<&String> = cases.map(|case| &case.key).collect();
        if trials.iter().any(|trial| !known.contains(&trial.case)) {
            warnings.push("some trials are of cases that this version does not unfold".to_owned());
        }
        let study = Self {
            started: rfc3339(u64::try_from(stored.started_ns).unwrap_or(0)),
            predictions: predictions(&stored),
            warnings,
            trials,
            archive: StudyArchive::resume(store, stored.id.clone()),
            is_complete: false,
            prepared,
            id: stored.id,
            command: stored.command,
            environment: stored.environment,
        };
        Ok((study, removed))
    }
}

/// The predictions that were made when the study began.
fn predictions(stored: &StoredStudy) -> BTreeMap<String, CasePredictions> {
    let mut events = stored.events.iter();
    let made = events.find(|(_, event, _)| event == "expected");
    made.and_then(|(_, _, detail)| serde_json::from_value(detail.clone()).ok())
        .unwrap_or_default()
}
