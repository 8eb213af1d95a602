//! Why something could not be kept or found.

use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

/// Why something could not be kept or found. Nothing that was in the store is lost with any of them.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or its directory cannot be made or read.
    #[error("the store {} cannot be opened: {cause}", at.display())]
    Open {
        /// The store's file.
        at: PathBuf,
        /// What the system says.
        #[source]
        cause: io::Error,
    },
    /// Nothing has been kept there yet.
    #[error("there is no store {} yet", at.display())]
    Missing {
        /// Where it would be.
        at: PathBuf,
    },
    /// A later version of the program has written to it.
    #[error(
        "the store {} is of version {theirs}, and this program knows versions up to {ours}",
        at.display()
    )]
    Newer {
        /// The store's file.
        at: PathBuf,
        /// Its version.
        theirs: i64,
        /// The newest this program knows.
        ours: i64,
    },
    /// The file is something else.
    #[error("{} is no store of caudal's", at.display())]
    Foreign {
        /// The file.
        at: PathBuf,
    },
    /// The file is damaged.
    #[error("the store {} is damaged: {what}", at.display())]
    Corrupt {
        /// The store's file.
        at: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// No room is left.
    #[error("no room is left for the store {}", at.display())]
    Full {
        /// The store's file.
        at: PathBuf,
    },
    /// It may be read only.
    #[error("the store {} cannot be written to", at.display())]
    ReadOnly {
        /// The store's file.
        at: PathBuf,
    },
    /// Others have been writing to it all the time.
    #[error("the store {} is in use by another program", at.display())]
    Busy {
        /// The store's file.
        at: PathBuf,
    },
    /// Anything else SQLite says.
    #[error("the store {} cannot be used: {cause}", at.display())]
    Sqlite {
        /// The store's file.
        at: PathBuf,
        /// What SQLite says.
        #[source]
        cause: rusqlite::Error,
    },
    /// No id begins like this.
    #[error("nothing is kept under {id:?}")]
    Unknown {
        /// What was looked for.
        id: String,
    },
    /// Several ids begin like this.
    #[error("{id:?} may be any of {}", of.join(", "))]
    Ambiguous {
        /// What was looked for.
        id: String,
        /// The first of those it may be.
        of: Vec<String>,
    },
    /// Too little of an id, or no id at all.
    #[error("{id:?} is not the beginning of an id: 4 to 32 hexadecimal digits")]
    NoId {
        /// What was given.
        id: String,
    },
    /// It is kept already.
    #[error("{id} is kept already")]
    Exists {
        /// Its id.
        id: String,
    },
}

impl StoreError {
    /// What SQLite says of the file at `at`, in the words of this list.
    pub(super) fn of(at: &Path, cause: rusqlite::Error) -> Self {
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
            // The index beside the file that processes share could not grow.
            _ if extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) => Self::Full { at },
            // The file could be opened, so it is what stands beside it that cannot be made.
            ErrorCode::ReadOnly | ErrorCode::CannotOpen => Self::ReadOnly { at },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy { at },
            _ => Self::Sqlite { at, cause },
        }
    }

    /// What a person can do about it.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Open { .. } => "name another place with --store FILE, or CAUDAL_STORE",
            Self::Missing { .. } => {
                "a first run makes it; name another with --store FILE, or CAUDAL_STORE"
            }
            Self::Newer { .. } => "update this program, or name another store with --store FILE",
            Self::Foreign { .. } => "name another file with --store FILE; this one was left alone",
            Self::Corrupt { .. } => {
                "it was left as it is: move it away, and get what it holds with \
                 `sqlite3 OLD .recover | sqlite3 NEW`"
            }
            Self::Full { .. } => {
                "make room, or name another place with --store FILE; what is in it is safe"
            }
            Self::ReadOnly { .. } => {
                "have its owner let you write to it and its directory, or name another with --store FILE"
            }
            Self::Busy { .. } => "try again, or name another with --store FILE",
            Self::Sqlite { .. } => "name another with --store FILE",
            Self::Unknown { .. } => "see `caudal report list`",
            Self::Ambiguous { .. } => "give more of it",
            Self::NoId { .. } => "see `caudal report list`, or say `last`",
            Self::Exists { .. } => "see `caudal report show`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_line_and_say_what_to_do() {
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
                of: vec!["abcd1".into(), "abcd2".into()],
            },
            StoreError::NoId { id: id.clone() },
            StoreError::Exists { id },
        ];
        for error in all {
            let text = error.to_string();
            assert!(!text.contains('\n') && !text.is_empty(), "{text}");
            assert!(
                !error.advice().is_empty() && !error.advice().contains('\n'),
                "{text}"
            );
        }
    }
}
