//! The recording of a command's run: the choice of the file, and the attempt.

use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::location;
use crate::store::Store;
use crate::stored::StoredRun;

/// The destination of a command's run, chosen before the run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recording {
    /// Nothing is recorded, as the user asked.
    Disabled,
    /// The user has no directory for the store.
    NoDirectory,
    /// The run goes into this file.
    File(PathBuf),
}

/// A failure to record a run, which was shown all the same.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The user has no directory for the store.
    #[error("this user has no home directory")]
    NoDirectory,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Recording {
    /// The recording into the `explicit` file if given, else where [`Store::locate`] finds the store.
    #[must_use]
    pub fn new(explicit: Option<&Path>) -> Self {
        match Store::locate(explicit) {
            Some(at) => Self::File(at),
            None if location::is_named_by_environment() => Self::Disabled,
            None => Self::NoDirectory,
        }
    }

    /// `true` unless nothing is to be recorded.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        *self != Self::Disabled
    }

    /// Records the run; `false` when nothing is to be recorded.
    ///
    /// # Errors
    /// When there is no directory for the store, or the store cannot be used.
    pub fn record(&self, run: &StoredRun) -> Result<bool, RecordingError> {
        match self {
            Self::Disabled => Ok(false),
            Self::NoDirectory => Err(RecordingError::NoDirectory),
            Self::File(at) => {
                Store::open(at)?.record(run)?;
                Ok(true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDirectory, id, run};

    #[test]
    fn a_run_is_recorded_in_the_named_file_unless_recording_is_disabled() {
        let directory = TestDirectory::new("recording");
        let recording = Recording::new(Some(&directory.store_path()));
        assert!(recording.is_enabled() && recording.record(&run(1)).unwrap());
        assert!(directory.open().find(&id(1)).is_ok());
        assert!(!Recording::Disabled.record(&run(2)).unwrap());
        assert!(matches!(
            Recording::NoDirectory.record(&run(2)),
            Err(RecordingError::NoDirectory)
        ));
        assert!(matches!(
            recording.record(&run(1)),
            Err(RecordingError::Store(StoreError::Exists { .. }))
        ));
    }
}
