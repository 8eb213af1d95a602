//! The recording of a command's run: the choice of the file, and the attempt.

use caudal_core::text::printable;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::location;
use crate::store::Store;
use crate::stored::StoredRun;
use crate::tag::{MAX_TAG_LENGTH, check_tag};

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

    /// Records the run with these tags and those of `CAUDAL_TAG`; `false` when nothing is to be recorded.
    ///
    /// # Errors
    /// When there is no directory for the store, or the store cannot be used.
    pub fn record(&self, run: &StoredRun, tags: &[String]) -> Result<bool, RecordingError> {
        let named = std::env::var("CAUDAL_TAG").unwrap_or_default();
        let mut tags = tags.to_vec();
        tags.extend(tags_of_list(&named));
        tags.sort_unstable();
        tags.dedup();
        self.record_with(run, &tags)
    }

    /// Records a part of what is recorded as another run, without tags: a search for a tag finds the whole alone, not its parts as well.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_part(&self, run: &StoredRun) -> Result<bool, RecordingError> {
        self.record_with(run, &[])
    }

    fn record_with(&self, run: &StoredRun, tags: &[String]) -> Result<bool, RecordingError> {
        match self {
            Self::Disabled => Ok(false),
            Self::NoDirectory => Err(RecordingError::NoDirectory),
            Self::File(at) => {
                Store::open(at)?.record_with_tags(run, tags)?;
                Ok(true)
            }
        }
    }
}

/// The tags of a list with commas; one that is not valid is made so, as it must not cost the run.
fn tags_of_list(list: &str) -> impl Iterator<Item = String> {
    let tags = list.split(',').map(|tag| {
        let tag = printable(tag.trim()).replace(['\n', '\t'], " ");
        tag.chars().take(MAX_TAG_LENGTH).collect::<String>()
    });
    tags.filter(|tag| check_tag(tag).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDirectory, id, run};

    #[test]
    fn a_run_is_recorded_in_the_named_file_unless_recording_is_disabled() {
        let directory = TestDirectory::new("recording");
        let recording = Recording::new(Some(&directory.store_path()));
        assert!(recording.is_enabled() && recording.record(&run(1), &[]).unwrap());
        assert!(directory.open().find(&id(1)).is_ok());
        assert!(!Recording::Disabled.record(&run(2), &[]).unwrap());
        assert!(matches!(
            Recording::NoDirectory.record(&run(2), &[]),
            Err(RecordingError::NoDirectory)
        ));
        assert!(matches!(
            recording.record(&run(1), &[]),
            Err(RecordingError::Store(StoreError::Exists { .. }))
        ));
    }

    #[test]
    fn a_run_is_recorded_with_its_tags() {
        let directory = TestDirectory::new("recording-tags");
        let recording = Recording::new(Some(&directory.store_path()));
        let tags = ["b".to_owned(), "a".to_owned(), "b".to_owned()];
        recording.record(&run(1), &tags).unwrap();
        assert_eq!(directory.open().tags(&id(1)).unwrap(), ["a", "b"]);
    }

    #[test]
    fn tags_of_a_list_are_made_valid() {
        let tags = |list: &str| tags_of_list(list).collect::<Vec<_>>();
        assert_eq!(tags(" before , lab 1,,"), ["before", "lab 1"]);
        assert_eq!(tags(""), Vec::<String>::new());
        assert_eq!(tags(&"x".repeat(60)), ["x".repeat(40)]);
    }
}
