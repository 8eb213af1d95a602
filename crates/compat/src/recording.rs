//! The recording of a run in the store: after its result was shown, and never at its expense.

use caudal_core::text::on_one_line;
use caudal_store::{Recording, RecordingError, StoreError, StoredRun};
use std::io::Write;

/// The remedy where no file can be used: these programs have no flags for the store.
const OTHER_FILE: &str = "name a file with CAUDAL_STORE=FILE, or say CAUDAL_STORE=none";

/// Records a run. A failure is one line on standard error.
pub fn record(recording: &Recording, run: &StoredRun) {
    if let Err(error) = recording.record(run) {
        let line = format!("the run is not kept: {error}; {}", remedy(&error));
        let _ = writeln!(
            std::io::stderr(),
            "caudal: warning: {}",
            on_one_line(&line)
        );
    }
}

/// The remedy for an error of the store.
const fn remedy(error: &RecordingError) -> &'static str {
    let RecordingError::Store(error) = error else {
        return OTHER_FILE;
    };
    match error {
        StoreError::Open { .. } => OTHER_FILE,
        StoreError::Newer { .. } => {
            "update this program, or name another store with CAUDAL_STORE=FILE"
        }
        StoreError::Foreign { .. } => {
            "name another file with CAUDAL_STORE=FILE; this one was left alone"
        }
        StoreError::Corrupt { .. } => {
            "it was left as it is: move it away, and get what it holds with \
             `sqlite3 OLD .recover | sqlite3 NEW`"
        }
        StoreError::Full { .. } => {
            "make room, or name another place with CAUDAL_STORE=FILE; what is in it is safe"
        }
        StoreError::ReadOnly { .. } => {
            "have its owner let you write to it and its directory, or name another with CAUDAL_STORE=FILE"
        }
        StoreError::Busy { .. } => "try again, or name another with CAUDAL_STORE=FILE",
        StoreError::Exists { .. } => "see `caudal report show`",
        _ => "name another with CAUDAL_STORE=FILE",
    }
}
