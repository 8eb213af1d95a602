//! The runs of a file: the document of a run as caudal prints it, or a log of another tool.

use caudal_core::date::parse_utc;
use caudal_core::run::{Run, RunOutcome, SCHEMA};
use caudal_core::warning::WarningCode;
use caudal_import::{ImportError, MAX_LOG_BYTES, read};
use caudal_store::StoredRun;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::document::stored_import;

/// The reason why the runs of a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SideFileError {
    /// It cannot be read.
    #[error("cannot read: {0}")]
    Read(#[from] io::Error),
    /// It is a run of caudal, and its document is not one that this version reads.
    #[error("the document of the run cannot be read: {0}")]
    Document(#[source] serde_json::Error),
    /// It is another document of caudal.
    #[error("it holds {schema:?}, not the document of a run")]
    OtherSchema {
        /// The schema of the document.
        schema: String,
    },
    /// It is no log that is known.
    #[error(transparent)]
    Import(#[from] ImportError),
}

/// The key that every document of caudal has.
#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// The runs of the file at `path`.
///
/// # Errors
/// When it cannot be read, or holds no run.
pub fn runs_of_file(path: &Path) -> Result<Vec<StoredRun>, SideFileError> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(MAX_LOG_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    if let Ok(Schema { schema }) = serde_json::from_slice(&bytes) {
        if schema != SCHEMA {
            return Err(SideFileError::OtherSchema { schema });
        }
        let run: Run = serde_json::from_slice(&bytes).map_err(SideFileError::Document)?;
        return Ok(vec![stored(run)]);
    }
    let runs = read(&bytes, &path.display().to_string())?;
    Ok(runs.into_iter().map(|run| stored_import(run, 0)).collect())
}

/// The run of a document, with the time and the outcome that it states.
fn stored(run: Run) -> StoredRun {
    let has = |code: WarningCode| run.warnings.iter().any(|warning| warning.code == code);
    let is_cut_short =
        has(WarningCode::CutShort) || run.round_trips().is_some_and(|one| one.cut_short.is_some());
    let outcome = if is_cut_short {
        RunOutcome::CutShort
    } else {
        RunOutcome::Done
    };
    let whole_seconds = run.header.started.get(..19).and_then(parse_utc);
    let began_ns = run.began_s.map(|began_s| (began_s * 1e9) as i64);
    StoredRun::new(run, began_ns.or(whole_seconds).unwrap_or(0), outcome)
}
