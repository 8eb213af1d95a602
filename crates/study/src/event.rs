//! The progress of a study, for display.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_experiment::{Case, Trial};
use caudal_store::StoreError;

use crate::error::StudyError;

/// An event of a study.
#[derive(Debug)]
pub enum StudyEvent<'a> {
    /// Something could not be recorded; the study goes on in memory alone.
    NotRecorded(&'a StoreError),
    /// A trial begins.
    TrialStarted {
        /// Its position in the study, from 1.
        position: u64,
        /// The minimum number of trials of the study.
        total: u64,
        /// Its case.
        case: &'a Case,
        /// The expected time until the end of the study.
        remaining: Duration,
    },
    /// The flows of a trial have ended.
    TrialEnded {
        /// The time that the trial was expected to take.
        expected: Duration,
    },
    /// A trial is complete.
    TrialCompleted {
        /// The trial.
        trial: &'a Trial,
        /// Its case.
        case: &'a Case,
        /// The minimum number of trials of the study.
        total: u64,
        /// The values of each metric in all valid trials of the case so far.
        values: BTreeMap<String, Vec<f64>>,
        /// `true` when it is discarded, and repeated.
        is_repeated: bool,
    },
}

/// The end of the trials of a study.
#[derive(Debug)]
pub enum StudyEnd {
    /// All trials were carried out.
    Complete,
    /// The user ended it.
    Interrupted,
    /// A trial could not be carried out.
    Failed(StudyError),
}
