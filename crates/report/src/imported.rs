//! A test of another tool's log as it is stored.

use caudal_core::date::rfc3339;
use caudal_import::ImportedRun;
use caudal_store::StoredRun;

/// An imported run as it is stored, with the date of its log or else `modified_ns` (ns since 1970).
#[must_use]
pub fn stored_import(mut imported: ImportedRun, modified_ns: i64) -> StoredRun {
    let started_ns = imported.started_ns.unwrap_or(modified_ns).max(0);
    imported.run.header.started = rfc3339(started_ns.unsigned_abs());
    StoredRun {
        title: imported.title.map(Into::into),
        ..StoredRun::new(imported.run, started_ns, imported.outcome)
    }
}
