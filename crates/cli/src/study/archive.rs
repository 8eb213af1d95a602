//! Where a study's trials go as they end: into the store, and into memory where there is none.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;

use serde_json::Value;

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use caudal_experiment::Trial;
use caudal_store::{SampleSeries, Store, StoreError, StoredDocument, StoredRun, StoredStudy};

/// Where trials go.
pub struct Archive {
    store: Option<RefCell<Store>>,
    /// Samples of trials that the store does not have.
    series: BTreeMap<String, Vec<SampleSeries>>,
    study: String,
}

impl Archive {
    /// The archive of a study that begins; without a store that can be written there is one line on standard error.
    #[must_use]
    pub fn begin(args: &StoreArgs, study: &StoredStudy) -> Self {
        let store = if args.no_store {
            None
        } else {
            Store::locate(args.store.as_deref()).and_then(|at| {
                let opened = Store::open(&at).and_then(|mut store| {
                    store.record_study(study)?;
                    Ok(store)
                });
                opened.map_err(|error| warn(&error)).ok()
            })
        };
        Self {
            store: store.map(RefCell::new),
            series: BTreeMap::new(),
            study: study.id.clone(),
        }
    }

    /// The archive of a study that goes on.
    #[must_use]
    pub const fn resume(store: Store, study: String) -> Self {
        Self {
            store: Some(RefCell::new(store)),
            series: BTreeMap::new(),
            study,
        }
    }

    /// Whether what is measured outlives this process.
    #[must_use]
    pub const fn is_kept(&self) -> bool {
        self.store.is_some()
    }

    /// Keeps a trial. A store that fails is left, with one line on standard error; the study goes on in memory.
    pub fn keep(&mut self, run: StoredRun) {
        if let Some(store) = &self.store {
            match store.borrow_mut().record(&run) {
                Ok(()) => return,
                Err(error) => warn(&error),
            }
            self.store = None;
        }
        self.series.insert(run.id, run.series);
    }

    /// Notes that something happened to the study.
    pub fn note(&mut self, event: &str, detail: &Value) {
        let Some(store) = &self.store else { return };
        let noted = store.borrow_mut().record_event(&self.study, event, detail);
        if let Err(error) = noted {
            warn(&error);
            self.store = None;
        }
    }

    /// The samples of a trial.
    #[must_use]
    pub fn series(&self, trial: &str) -> Vec<SampleSeries> {
        if let Some(series) = self.series.get(trial) {
            return series.clone();
        }
        let kept = self
            .store
            .as_ref()
            .map(|store| store.borrow().series(trial));
        kept.and_then(Result::ok).unwrap_or_default()
    }
}

/// The trials that a store has of a study.
///
/// # Errors
/// When they cannot be read.
pub fn trials(store: &Store, study: &str) -> Result<Vec<Trial>, Failure> {
    let kept = store.trials(study).map_err(|error| failure(&error))?;
    kept.into_iter()
        .map(|run| {
            let unreadable = |error: String| {
                Failure::new(
                    Exit::Failed,
                    format!(
                        "trial {} in the store is not one of this version: {error}",
                        run.id
                    ),
                    "resume it with the version that began it",
                )
            };
            match &run.document {
                StoredDocument::Trial(text) => {
                    serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))
                }
                StoredDocument::Run(_) => Err(unreadable("it is a run by itself".to_owned())),
            }
        })
        .collect()
}

/// A store that cannot be used, as a failure.
#[must_use]
pub fn failure(error: &StoreError) -> Failure {
    Failure::new(
        Exit::Failed,
        error.to_string(),
        crate::store_advice::store_advice(error),
    )
}

fn warn(error: &StoreError) {
    let failure = Failure::new(
        Exit::Done,
        format!("the study is not kept: {error}"),
        crate::store_advice::store_advice(error),
    );
    let line = failure
        .to_string()
        .replacen("caudal: ", "caudal: warning: ", 1);
    let _ = writeln!(std::io::stderr(), "{line}");
}
