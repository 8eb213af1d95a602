//! The errors of the store.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// An error of the store. None of them loses data that was recorded.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its directory cannot be created or read.
    #[error("the store {} cannot be opened: {cause}", at.display())]
    Open {
        /// The store's file.
        at: PathBuf,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The store does not exist yet.
    #[error("there is no store {} yet", at.display())]
    Missing {
        /// The path it would have.
        at: PathBuf,
    },
    /// The store was written by a later version of the program.
    #[error(
        "the store {} has version {theirs}, and this program supports versions up to {ours}",
        at.display()
    )]
    Newer {
        /// The store's file.
        at: PathBuf,
        /// The version of the store.
        theirs: i64,
        /// The newest version this program supports.
        ours: i64,
    },
    /// The file is not a store.
    #[error("{} is not a caudal store", at.display())]
    Foreign {
        /// The file.
        at: PathBuf,
    },
    /// The file is damaged.
    #[error("the store {} is damaged: {what}", at.display())]
    Corrupt {
        /// The store's file.
        at: PathBuf,
        /// The damage.
        what: String,
    },
    /// The document of a run or study is not one that this version reads.
    #[error("the document of {id} cannot be read: {cause}")]
    Unreadable {
        /// The id of the run or study.
        id: String,
        /// The first key or value that is wrong.
        #[source]
        cause: serde_json::Error,
    },
    /// The disk is full.
    #[error("the disk of the store {} is full", at.display())]
    Full {
        /// The store's file.
        at: PathBuf,
    },
    /// The store is read-only.
    #[error("the store {} cannot be written to", at.display())]
    ReadOnly {
        /// The store's file.
        at: PathBuf,
    },
    /// Other programs have locked it for too long.
    #[error("the store {} is in use by another program", at.display())]
    Busy {
        /// The store's file.
        at: PathBuf,
    },
    /// Another error of SQLite.
    #[error("the store {} cannot be used: {cause}", at.display())]
    Sqlite {
        /// The store's file.
        at: PathBuf,
        /// SQLite's error.
        #[source]
        cause: rusqlite::Error,
    },
    /// No id starts like this.
    #[error("there is no run or study {id:?}")]
    Unknown {
        /// The id that was given.
        id: String,
    },
    /// A trial cannot be removed alone.
    #[error("{id} is a trial of the study {study}, and cannot be removed alone")]
    PartOfStudy {
        /// The id of the trial.
        id: String,
        /// The id of its study.
        study: String,
    },
    /// Several ids start like this.
    #[error("{id:?} is ambiguous: {}", candidates.join(", "))]
    Ambiguous {
        /// The id that was given.
        id: String,
        /// The first candidates.
        candidates: Vec<String>,
    },
    /// Not an id, or too few digits of one.
    #[error("{id:?} is not the start of an id: 4 to 32 hexadecimal digits")]
    InvalidId {
        /// The id that was given.
        id: String,
    },
    /// The id is taken.
    #[error("{id} is already stored")]
    Exists {
        /// Its id.
        id: String,
    },
}

impl StoreError {
    /// Classifies an error of the system on the file at `at`.
    pub(super) fn from_io(at: &Path, cause: io::Error) -> Self {
        let at = at.to_owned();
        match cause.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { at },
            _ => Self::Open { at, cause },
        }
    }

    /// Classifies an error of SQLite on the file at `at`.
    pub(super) fn from_sqlite(at: &Path, cause: rusqlite::Error) -> Self {
        let at = at.to_owned();
        let Some(code) = cause.sqlite_error_code() else {
            return Self::Sqlite { at, cause };
        };
        let extended = cause.sqlite_error().map(|error| error.extended_code);
        match code {
            ErrorCode::NotADatabase => Self::Foreign { at },
            ErrorCode::DatabaseCorrupt => Self::Corrupt {
                at,
                what: cause.to_string(),
            },
            ErrorCode::DiskFull => Self::Full { at },
            // The shared-memory index beside the file could not grow.
            _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::Full { at },
            // The file could be opened, so the files beside it cannot be created.
            ErrorCode::ReadOnly | ErrorCode::CannotOpen => Self::ReadOnly { at },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy { at },
            _ => Self::Sqlite { at, cause },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line() {
        let at = PathBuf::from("/data/store.db");
        let id = "abcd".to_owned();
        let all = [
            StoreError::Open {
                at: at.clone(),
                cause: std::io::ErrorKind::PermissionDenied.into(),
            },
            StoreError::Missing { at: at.clone() },
            StoreError::Newer {
                at: at.clone(),
                theirs: 3,
                ours: 2,
            },
            StoreError::Foreign { at: at.clone() },
            StoreError::Corrupt {
                at: at.clone(),
                what: "a page".into(),
            },
            StoreError::Unreadable {
                id: id.clone(),
                cause: serde_json::from_str::<u64>("{}").unwrap_err(),
            },
            StoreError::Full { at: at.clone() },
            StoreError::ReadOnly { at: at.clone() },
            StoreError::Busy { at: at.clone() },
            StoreError::Sqlite {
                at,
                cause: rusqlite::Error::InvalidQuery,
            },
            StoreError::Unknown { id: id.clone() },
            StoreError::Ambiguous {
                id: id.clone(),
                candidates: vec!["abcd1".into(), "abcd2".into()],
            },
            StoreError::InvalidId { id: id.clone() },
            StoreError::Exists { id },
        ];
        for error in all {
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.is_empty(), "{text}");
        }
    }
}
