//! The archive of a study's trials: the store, and the memory of this process where there is none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use caudal_experiment::Trial;
use caudal_store::{SampleSeries, Store, StoreError, StoredDocument, StoredRun, StoredStudy};
use serde::Serialize;

use crate::error::StudyError;

/// The archive of a study's trials.
pub struct StudyArchive {
    store: Option<RefCell<Store>>,
    /// The samples of trials that the store does not have.
    series: BTreeMap<String, Vec<SampleSeries>>,
    study: String,
}

impl StudyArchive {
    /// The archive of a study that begins, in the store at this path; with the error of a store that cannot be written.
    #[must_use]
    pub fn begin(path: Option<&Path>, study: &StoredStudy) -> (Self, Option<StoreError>) {
        let opened = path.map(|path| {
            let mut store = Store::open(path)?;
            store.record_study(study)?;
            Ok(store)
        });
        let (store, error) = match opened {
            Some(Ok(store)) => (Some(RefCell::new(store)), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let archive = Self {
            store,
            series: BTreeMap::new(),
            study: study.id.clone(),
        };
        (archive, error)
    }

    /// The archive of a study that is resumed.
    #[must_use]
    pub const fn resume(store: Store, study: String) -> Self {
        Self {
            store: Some(RefCell::new(store)),
            series: BTreeMap::new(),
            study,
        }
    }

    /// `true` when the trials are in a store.
    #[must_use]
    pub const fn is_stored(&self) -> bool {
        self.store.is_some()
    }

    /// Records a trial. A store that fails is used no more.
    ///
    /// # Errors
    /// That of the store; the samples are then kept in memory.
    pub fn record(&mut self, run: StoredRun) -> Result<(), StoreError> {
        let mut recorded = Ok(());
        if let Some(store) = &self.store {
            recorded = store.borrow_mut().record(&run);
            if recorded.is_ok() {
                return recorded;
            }
            self.store = None;
        }
        self.series.insert(run.id, run.series);
        recorded
    }

    /// Puts a tag on the study. A store that fails is used no more.
    ///
    /// # Errors
    /// That of the store.
    pub fn tag(&mut self, tag: &str) -> Result<(), StoreError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let tagged = store.borrow_mut().tag(&self.study, tag);
        if tagged.is_err() {
            self.store = None;
        }
        tagged
    }

    /// Records an event of the study. A store that fails is used no more.
    ///
    /// # Errors
    /// That of the store.
    pub fn record_event(&mut self, event: &str, detail: &impl Serialize) -> Result<(), StoreError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let detail = serde_json::json!(detail);
        let recorded = store.borrow_mut().record_event(&self.study, event, &detail);
        if recorded.is_err() {
            self.store = None;
        }
        recorded
    }

    /// The samples of a trial; none when they cannot be read.
    #[must_use]
    pub fn series(&self, trial: &str) -> Vec<SampleSeries> {
        if let Some(series) = self.series.get(trial) {
            return series.clone();
        }
        let stored = self
            .store
            .as_ref()
            .map(|store| store.borrow().series(trial));
        stored.and_then(Result::ok).unwrap_or_default()
    }
}

/// The trials of a study in a store.
///
/// # Errors
/// When they cannot be read.
pub(crate) fn stored_trials(store: &Store, study: &str) -> Result<Vec<Trial>, StudyError> {
    let runs = store.trials(study)?;
    runs.into_iter()
        .map(|run| {
            let id = run.id;
            match run.document {
                StoredDocument::Trial(text) => serde_json::from_str(&text)
                    .map_err(|cause| StudyError::TrialOfOtherVersion { id, cause }),
                StoredDocument::Run(_) => Err(StudyError::NotATrial { id }),
            }
        })
        .collect()
}
