//! Write transactions.

use rusqlite::{Transaction, TransactionBehavior, params};
use serde_json::Value;

use crate::environment::PackedEnvironment;
use crate::error::StoreError;
use crate::id::{DIGITS, is_hexadecimal};
use crate::pack::Packed;
use crate::store::Store;
use crate::stored::SampleSeries;

impl Store {
    /// Runs a write transaction, which is atomic.
    pub(super) fn write(
        &mut self,
        what: impl FnOnce(&StoreWriter<'_>) -> Result<(), WriteError>,
    ) -> Result<(), StoreError> {
        let at = &self.at;
        let classified = |cause| StoreError::from_sqlite(at, cause);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(classified)?;
        let writer = StoreWriter(transaction);
        what(&writer).map_err(|error| match error {
            WriteError::Sqlite(cause) => classified(cause),
            WriteError::Store(error) => error,
        })?;
        writer.0.commit().map_err(classified)
    }
}

/// An error inside a transaction.
pub(super) enum WriteError {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl WriteError {
    /// The error for data of a study: unknown, when a reference to the study is invalid.
    pub(super) fn about_study(self, study: &str) -> Self {
        match self {
            Self::Sqlite(cause) if is_foreign_key_violation(&cause) => {
                Self::Store(StoreError::Unknown {
                    id: study.to_owned(),
                })
            }
            other => other,
        }
    }
}

impl From<rusqlite::Error> for WriteError {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}

/// An open write transaction.
pub(super) struct StoreWriter<'a>(pub(super) Transaction<'a>);

impl StoreWriter<'_> {
    pub(super) fn execute(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
    ) -> Result<(), WriteError> {
        self.0.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Adds the entry of an id, which must be new.
    pub(super) fn enter(&self, id: &str, started_ns: i64) -> Result<(), WriteError> {
        if id.len() != DIGITS || !is_hexadecimal(id) {
            let id = id.to_owned();
            return Err(WriteError::Store(StoreError::InvalidId { id }));
        }
        let added = self
            .0
            .prepare_cached("INSERT OR IGNORE INTO entry (id, started_ns) VALUES (?, ?)")?
            .execute(params![id, started_ns])?;
        if added == 0 {
            let id = id.to_owned();
            return Err(WriteError::Store(StoreError::Exists { id }));
        }
        Ok(())
    }

    pub(super) fn environment(&self, environment: &PackedEnvironment) -> Result<(), WriteError> {
        let packed = &environment.packed;
        self.execute(
            "INSERT OR IGNORE INTO environment VALUES (?, ?, ?)",
            params![environment.digest, packed.size as i64, packed.bytes],
        )
    }

    /// Adds the samples of a run, each series with its packed size and bytes.
    pub(super) fn series<'s>(
        &self,
        run: &str,
        all: impl Iterator<Item = (&'s SampleSeries, &'s (u64, Vec<u8>))>,
    ) -> Result<(), WriteError> {
        for (nth, (series, (size, packed))) in all.enumerate() {
            self.execute(
                "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    run,
                    nth as i64,
                    series.flow,
                    series.name,
                    series.unit,
                    series.values.len() as i64,
                    *size as i64,
                    packed,
                ],
            )?;
        }
        Ok(())
    }

    /// Adds the tags of a new run.
    pub(super) fn tags(&self, run: &str, tags: &[String], at_ns: i64) -> Result<(), WriteError> {
        for tag in tags {
            self.execute(
                "INSERT INTO tag (id, tag, at_ns, held) VALUES (?, ?, ?, 1)",
                params![run, tag, at_ns],
            )?;
        }
        Ok(())
    }

    pub(super) fn event(
        &self,
        study: &str,
        at_ns: i64,
        event: &str,
        detail: &Value,
    ) -> Result<(), WriteError> {
        let packed = Packed::from_json(detail);
        self.execute(
            "INSERT INTO event (study, at_ns, event, size, packed) VALUES (?, ?, ?, ?, ?)",
            params![study, at_ns, event, packed.size as i64, packed.bytes],
        )
    }
}

/// `true` when a row refers to one that does not exist.
fn is_foreign_key_violation(error: &rusqlite::Error) -> bool {
    error.sqlite_error().map(|error| error.extended_code)
        == Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::fixture::{TestDirectory, assert_integrity, found, id, run};
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};

    #[test]
    fn a_full_disk_loses_no_recorded_run() {
        let directory = TestDirectory::new("full");
        let mut store = directory.open();
        // SQLite is limited to this size, as on a full disk.
        store
            .connection
            .pragma_update(None, "max_page_count", 60)
            .unwrap();
        let recorded = (0..)
            .find(|nth| match store.record(&run(*nth)) {
                Ok(()) => false,
                Err(StoreError::Full { .. }) => true,
                Err(other) => panic!("{other:?}"),
            })
            .unwrap();
        assert!(recorded > 10, "{recorded}");
        drop(store);
        assert_integrity(&directory.store_path());
        let mut store = directory.open();
        assert_eq!(store.summary().unwrap().runs, recorded);
        // Without the limit there is space again.
        store.record(&run(recorded)).unwrap();
    }

    #[test]
    fn concurrent_writers_lose_no_run() {
        let directory = TestDirectory::new("many");
        let at = directory.store_path();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let at = &at;
                scope.spawn(move || {
                    let mut store = Store::open(at).unwrap();
                    for nth in 0..25 {
                        store.record(&run(writer * 100 + nth)).unwrap();
                        store.list(&Filter::default()).unwrap();
                    }
                });
            }
        });
        let store = directory.open();
        assert_eq!(store.summary().unwrap().runs, 200);
        assert_integrity(&at);
    }

    /// The environment variable with the store of the child process of the next test; not set in any other.
    const RECORDER: &str = "CAUDAL_TEST_RECORDER";

    /// Not a test by itself: the process that is killed in the next.
    #[test]
    fn records_runs_until_it_is_killed() {
        let Some(classified) = std::env::var_os(RECORDER) else {
            return;
        };
        let classified = classified.into_string().unwrap();
        let (first, at) = classified.split_once(' ').unwrap();
        let mut store = Store::open(Path::new(at)).unwrap();
        for nth in first.parse().unwrap().. {
            store.record(&run(nth)).unwrap();
            println!("recorded {nth}");
        }
    }

    #[test]
    fn a_kill_at_any_moment_loses_no_recorded_run() {
        let directory = TestDirectory::new("killed");
        let mut acknowledged = Vec::new();
        for round in 0..30_u64 {
            let first = round * 1000;
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "writer::tests::records_runs_until_it_is_killed",
                    "--exact",
                    "--nocapture",
                ])
                .env(
                    RECORDER,
                    format!("{first} {}", directory.store_path().display()),
                )
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut remaining = round % 7;
            // Killed as soon as that many are recorded, which is in the middle of the next; and in the first rounds of
            // each seven while it opens the store.
            let note = |line: &str, acknowledged: &mut Vec<u64>| {
                let number: Option<u64> = line
                    .rsplit_once("recorded ")
                    .map(|(_, nth)| nth.parse().unwrap());
                acknowledged.extend(number);
                number.is_some()
            };
            while remaining > 0 {
                let line = lines
                    .next()
                    .expect("it goes on until it is killed")
                    .unwrap();
                remaining -= u64::from(note(&line, &mut acknowledged));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            // The runs it reported before it was killed were recorded as well.
            for line in lines.map_while(Result::ok) {
                note(&line, &mut acknowledged);
            }
            let store = directory.open();
            for nth in &acknowledged {
                assert_eq!(found(&store, &id(*nth)), run(*nth));
            }
        }
        assert!(acknowledged.len() > 30);
        assert_integrity(&directory.store_path());
    }
}
