//! The advice that goes with errors of the store, with the flags that help.

use crate::exit::{Exit, Failure};
use caudal_store::StoreError;

/// The remedy for an error of the store.
#[must_use]
pub const fn store_advice(error: &StoreError) -> &'static str {
    match error {
        StoreError::Open { .. } => "name another place with --store FILE, or CAUDAL_STORE",
        StoreError::Missing { .. } => {
            "a first run makes it; name another with --store FILE, or CAUDAL_STORE"
        }
        StoreError::Newer { .. } => "update this program, or name another store with --store FILE",
        StoreError::Foreign { .. } => {
            "name another file with --store FILE; this one was left alone"
        }
        StoreError::Corrupt { .. } => {
            "it was left as it is: move it away, and get what it holds with \
             `sqlite3 OLD .recover | sqlite3 NEW`"
        }
        StoreError::Unreadable { .. } => {
            "another version of caudal may have recorded it; `caudal report list` shows the others"
        }
        StoreError::Full { .. } => {
            "make room, or name another place with --store FILE; what is in it is safe"
        }
        StoreError::ReadOnly { .. } => {
            "have its owner let you write to it and its directory, or name another with --store FILE"
        }
        StoreError::Busy { .. } => "try again, or name another with --store FILE",
        StoreError::Sqlite { .. } => "name another with --store FILE",
        StoreError::Unknown { .. } => "see `caudal report list`",
        StoreError::PartOfStudy { .. } => "remove the study",
        StoreError::Ambiguous { .. } => "give more of it",
        StoreError::InvalidId { .. } => "see `caudal report list`, or use `last`",
        StoreError::Exists { .. } => "see `caudal report show`",
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Unknown { .. }
            | StoreError::PartOfStudy { .. }
            | StoreError::Ambiguous { .. }
            | StoreError::InvalidId { .. } => Exit::Usage,
            StoreError::ReadOnly { .. } => Exit::NotPermitted,
            StoreError::Open { cause, .. }
                if cause.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                Exit::NotPermitted
            }
            _ => Exit::Failed,
        };
        Self::new(exit, error.to_string(), store_advice(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn advice_is_one_line() {
        let at = PathBuf::from("/data/store.db");
        let id = "abcd".to_owned();
        for error in [
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
            StoreError::Busy { at },
            StoreError::Unknown { id: id.clone() },
            StoreError::InvalidId { id: id.clone() },
            StoreError::Exists { id },
        ] {
            let advice = store_advice(&error);
            assert!(!advice.is_empty() && !advice.contains('\n'), "{error}");
        }
    }
}
