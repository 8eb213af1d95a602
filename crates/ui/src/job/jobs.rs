//! The jobs of a server: one test at a time, and the latest of those that have ended.

use super::job::{Job, JobKind, JobView};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of jobs that run at once.
const MAX_RUNNING: usize = 4;
/// Maximum number of jobs that are known.
const MAX_KNOWN: usize = 20;

/// The reason why nothing was started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// Others run.
    #[error("{MAX_RUNNING} run already; stop one, or wait")]
    Busy,
    /// The program cannot be started.
    #[error("this program cannot be started: {0}")]
    Program(#[from] std::io::Error),
}

/// The jobs of a server.
#[derive(Debug, Default)]
pub(crate) struct Jobs(Mutex<JobList>);

#[derive(Debug, Default)]
struct JobList {
    last: u64,
    all: Vec<Arc<Job>>,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, JobList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a program.
    ///
    /// # Errors
    /// When too many run, or it cannot be started.
    pub(crate) fn start(
        &self,
        kind: JobKind,
        words: &[String],
        command: Command,
    ) -> Result<Arc<Job>, StartError> {
        let mut list = self.lock();
        if list.all.iter().filter(|job| job.is_running()).count() >= MAX_RUNNING {
            return Err(StartError::Busy);
        }
        list.last += 1;
        let job = Job::start(list.last, kind, words, command)?;
        list.all.push(Arc::clone(&job));
        while list.all.len() > MAX_KNOWN
            && let Some(oldest) = list.all.iter().position(|job| !job.is_running())
        {
            list.all.remove(oldest);
        }
        Ok(job)
    }

    /// The job of this number.
    pub(crate) fn find(&self, id: u64) -> Option<Arc<Job>> {
        self.lock().all.iter().find(|job| job.id() == id).cloned()
    }

    /// All that are known, the newest first.
    pub(crate) fn views(&self) -> Vec<JobView> {
        self.lock().all.iter().rev().map(|job| job.view()).collect()
    }

    /// Asks all to end.
    pub(crate) fn stop_all(&self) {
        let all = self.lock().all.clone();
        all.iter().for_each(Job::stop);
    }

    /// `true` while any runs.
    pub(crate) fn is_any_running(&self) -> bool {
        self.lock().all.iter().any(|job| job.is_running())
    }
}
