//! Adding to the file: all of it or nothing.

use rusqlite::{Transaction, TransactionBehavior, params};
use serde_json::Value;

use super::environment::Environment;
use super::id::{DIGITS, is_hexadecimal};
use super::pack::Packed;
use super::{Store, StoreError};

impl Store {
    /// Adds in one transaction: all of it or nothing, and nobody sees a part.
    pub(super) fn write(
        &mut self,
        what: impl FnOnce(&Writer<'_>) -> Result<(), Trouble>,
    ) -> Result<(), StoreError> {
        let at = &self.at;
        let told = |cause| StoreError::of(at, cause);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(told)?;
        let writer = Writer(transaction);
        what(&writer).map_err(|trouble| match trouble {
            Trouble::Sqlite(cause) => told(cause),
            Trouble::Store(error) => error,
        })?;
        writer.0.commit().map_err(told)
    }
}

/// What went wrong inside a transaction.
pub(super) enum Trouble {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl Trouble {
    /// The same of what belongs to a study: where that is not there, this is what went wrong.
    pub(super) fn about_study(self, study: &str) -> Self {
        match self {
            Self::Sqlite(cause) if is_reference(&cause) => Self::Store(StoreError::Unknown {
                id: study.to_owned(),
            }),
            other => other,
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}

/// A transaction under way.
pub(super) struct Writer<'a>(pub(super) Transaction<'a>);

impl Writer<'_> {
    pub(super) fn run(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<(), Trouble> {
        self.0.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Takes an id, which nothing else may have.
    pub(super) fn enter(&self, id: &str, started_ns: i64) -> Result<(), Trouble> {
        if id.len() != DIGITS || !is_hexadecimal(id) {
            let id = id.to_owned();
            return Err(Trouble::Store(StoreError::NoId { id }));
        }
        let added = self
            .0
            .prepare_cached("INSERT OR IGNORE INTO entry (id, started_ns) VALUES (?, ?)")?
            .execute(params![id, started_ns])?;
        if added == 0 {
            let id = id.to_owned();
            return Err(Trouble::Store(StoreError::Exists { id }));
        }
        Ok(())
    }

    pub(super) fn environment(&self, environment: &Environment) -> Result<(), Trouble> {
        let packed = &environment.packed;
        self.run(
            "INSERT OR IGNORE INTO environment VALUES (?, ?, ?)",
            params![environment.digest, packed.size as i64, packed.bytes],
        )
    }

    pub(super) fn event(
        &self,
        study: &str,
        at_ns: i64,
        event: &str,
        detail: &Value,
    ) -> Result<(), Trouble> {
        let packed = Packed::of(detail);
        self.run(
            "INSERT INTO event (study, at_ns, event, size, packed) VALUES (?, ?, ?, ?, ?)",
            params![study, at_ns, event, packed.size as i64, packed.bytes],
        )
    }
}

/// Whether a row refers to another that is not there.
fn is_reference(error: &rusqlite::Error) -> bool {
    error.sqlite_error().map(|error| error.extended_code)
        == Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::super::fixture::{Place, found, id, is_whole, run};
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};

    #[test]
    fn a_full_disk_loses_nothing_that_was_kept() {
        let place = Place::new("full");
        let mut store = place.store();
        // The disk is as full as SQLite is told it is.
        store
            .connection
            .pragma_update(None, "max_page_count", 60)
            .unwrap();
        let kept = (0..)
            .find(|nth| match store.keep(&run(*nth)) {
                Ok(()) => false,
                Err(StoreError::Full { .. }) => true,
                Err(other) => panic!("{other:?}"),
            })
            .unwrap();
        assert!(kept > 10, "{kept}");
        drop(store);
        is_whole(&place.file());
        let mut store = place.store();
        assert_eq!(store.amounts().unwrap().runs, kept);
        // Room was made.
        store.keep(&run(kept)).unwrap();
    }

    #[test]
    fn many_write_at_once_and_nobody_loses_a_run() {
        let place = Place::new("many");
        let at = place.file();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let at = &at;
                scope.spawn(move || {
                    let mut store = Store::open(at).unwrap();
                    for nth in 0..25 {
                        store.keep(&run(writer * 100 + nth)).unwrap();
                        store.list(&Filter::default()).unwrap();
                    }
                });
            }
        });
        let store = place.store();
        assert_eq!(store.amounts().unwrap().runs, 200);
        is_whole(&at);
    }

    /// Where the child of the next test keeps runs; not set in any other.
    const KEEPER: &str = "CAUDAL_TEST_KEEPER";

    /// Not a test by itself: the process that is killed in the next.
    #[test]
    fn keeps_runs_until_it_is_killed() {
        let Some(told) = std::env::var_os(KEEPER) else {
            return;
        };
        let told = told.into_string().unwrap();
        let (first, at) = told.split_once(' ').unwrap();
        let mut store = Store::open(Path::new(at)).unwrap();
        for nth in first.parse().unwrap().. {
            store.keep(&run(nth)).unwrap();
            println!("kept {nth}");
        }
    }

    #[test]
    fn a_kill_at_any_moment_costs_no_run_that_was_kept() {
        let place = Place::new("killed");
        let mut acknowledged = Vec::new();
        for round in 0..30_u64 {
            let first = round * 1000;
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "writer::tests::keeps_runs_until_it_is_killed",
                    "--exact",
                    "--nocapture",
                ])
                .env(KEEPER, format!("{first} {}", place.file().display()))
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let mut left = round % 7;
            // Killed as soon as so many are kept, which is in the middle of the next; and in the first rounds of
            // each seven while it opens the store.
            let note = |line: &str, acknowledged: &mut Vec<u64>| {
                let number: Option<u64> = line
                    .rsplit_once("kept ")
                    .map(|(_, nth)| nth.parse().unwrap());
                acknowledged.extend(number);
                number.is_some()
            };
            while left > 0 {
                let line = lines
                    .next()
                    .expect("it goes on until it is killed")
                    .unwrap();
                left -= u64::from(note(&line, &mut acknowledged));
            }
            child.kill().unwrap();
            child.wait().unwrap();
            // What it still said before it went was true as well.
            for line in lines.map_while(Result::ok) {
                note(&line, &mut acknowledged);
            }
            let store = place.store();
            for nth in &acknowledged {
                assert_eq!(found(&store, &id(*nth)), run(*nth));
            }
        }
        assert!(acknowledged.len() > 30);
        is_whole(&place.file());
    }
}
