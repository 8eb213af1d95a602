//! Removing runs and studies.

use rusqlite::{Connection, params};
use serde::Serialize;
use std::collections::BTreeSet;

use crate::error::StoreError;
use crate::location;
use crate::store::Store;

/// The amount that a removal removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RemovedAmount {
    /// Runs that were not trials.
    pub runs: u64,
    /// Studies.
    pub studies: u64,
    /// Trials of these studies.
    pub trials: u64,
}

impl Store {
    /// Removes runs and studies, whose ids are full, with everything that belongs to them: documents, samples, tags, their parts, and the
    /// trials and events of studies. One transaction: all of them go, or none. Ids that another process has removed meanwhile are left out.
    ///
    /// The file keeps its size until [`compact`](Self::compact); until then later runs use the space.
    ///
    /// # Errors
    /// When it cannot be written, or an id is that of a trial, which belongs to its study.
    pub fn remove(&mut self, ids: &[String]) -> Result<RemovedAmount, StoreError> {
        for id in ids {
            if let Some(study) = self.study_of_trial(id)? {
                let id = id.clone();
                return Err(StoreError::PartOfStudy { id, study });
            }
        }
        let unique: BTreeSet<&String> = ids.iter().collect();
        let mut removed = RemovedAmount::default();
        self.write(|writer| {
            let delete = |sql: &str, id: &str| writer.0.prepare_cached(sql)?.execute([id]);
            for id in unique {
                let trials = delete(
                    "DELETE FROM entry WHERE id IN (SELECT id FROM run WHERE study = ?)",
                    id,
                )?;
                delete(
                    "DELETE FROM entry WHERE id IN (SELECT id FROM run WHERE part_of = ?)",
                    id,
                )?;
                let studies = count(&writer.0, "SELECT count(*) FROM study WHERE id = ?", id)?;
                let entries = delete("DELETE FROM entry WHERE id = ?", id)? as u64;
                removed.trials += trials as u64;
                removed.studies += studies;
                removed.runs += entries - studies;
            }
            writer.execute(
                "DELETE FROM environment WHERE digest NOT IN (SELECT environment FROM run UNION SELECT environment FROM study)",
                params![],
            )
        })?;
        Ok(removed)
    }

    /// Returns the space of what was removed to the file system by rewriting the file. Writers wait meanwhile.
    ///
    /// The size before and after, bytes.
    ///
    /// # Errors
    /// When another process reads or writes for too long, or there is no room for the copy; the store is unchanged then.
    pub fn compact(&self) -> Result<(u64, u64), StoreError> {
        let before = location::bytes(&self.at);
        self.read(|connection| {
            connection.execute_batch("VACUUM")?;
            // The log holds the whole file now.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        })?;
        Ok((before, location::bytes(&self.at)))
    }

    /// The study that the run with this full id is a trial of.
    fn study_of_trial(&self, id: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT study FROM run WHERE id = ? AND study NOT NULL")?;
            statement
                .query_map([id], |row| row.get(0))?
                .next()
                .transpose()
        })
    }
}

fn count(connection: &Connection, sql: &str, id: &str) -> rusqlite::Result<u64> {
    let found: i64 = connection.query_row(sql, [id], |row| row.get(0))?;
    Ok(found.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::fixture::{
        TestDirectory, assert_integrity, count as rows, found, id, run, study, trial,
    };

    #[test]
    fn parts_are_listed_where_asked_for_and_go_with_their_whole() {
        let directory = TestDirectory::new("parts");
        let mut store = directory.open();
        store.record(&run(1)).unwrap();
        for nth in 2..=3 {
            let part = crate::stored::StoredRun {
                part_of: Some(id(1)),
                ..run(nth)
            };
            store.record(&part).unwrap();
            assert_eq!(found(&store, &id(nth)), part);
        }
        let listed = |parts| {
            let filter = Filter {
                parts,
                ..Filter::default()
            };
            store.list(&filter).unwrap().len()
        };
        assert_eq!((listed(false), listed(true)), (1, 3));
        assert_eq!(store.resolve("last").unwrap(), id(1));
        assert!(store.resolve("last~1").is_err());
        assert_eq!(store.summary().unwrap().runs, 1);
        store.remove(&[id(1)]).unwrap();
        for table in ["entry", "run", "document", "series"] {
            assert_eq!(rows(&store, table), 0, "{table}");
        }
        assert_integrity(&directory.store_path());
    }

    #[test]
    fn a_removed_run_leaves_nothing_behind_and_others_alone() {
        let directory = TestDirectory::new("remove");
        let mut store = directory.open();
        for nth in 1..=3 {
            store.record(&run(nth)).unwrap();
            store.tag(&id(nth), "x").unwrap();
        }
        let removed = store.remove(&[id(1), id(3), id(1)]).unwrap();
        assert_eq!((removed.runs, removed.studies, removed.trials), (2, 0, 0));
        assert_eq!(found(&store, &id(2)), run(2));
        for (table, left) in [
            ("entry", 1),
            ("run", 1),
            ("document", 1),
            ("series", 2),
            ("tag", 1),
        ] {
            assert_eq!(rows(&store, table), left, "{table}");
        }
        assert_eq!(store.remove(&[id(3)]).unwrap(), RemovedAmount::default());
        store.remove(&[id(2)]).unwrap();
        assert_eq!(rows(&store, "environment"), 0);
        assert_integrity(&directory.store_path());
        // An id that was removed can be recorded again.
        store.record(&run(1)).unwrap();
    }

    #[test]
    fn a_study_goes_with_its_trials_and_a_trial_not_alone() {
        let directory = TestDirectory::new("remove-study");
        let mut store = directory.open();
        store.record_study(&study(100, "echo")).unwrap();
        store.record_study(&study(200, "echo")).unwrap();
        for (nth, of) in [(1, 100), (2, 100), (3, 200)] {
            store.record(&trial(nth, of, 0)).unwrap();
        }
        match store.remove(&[id(200), id(1)]) {
            Err(StoreError::PartOfStudy { study, .. }) => assert_eq!(study, id(100)),
            other => panic!("{other:?}"),
        }
        assert_eq!(store.summary().unwrap().studies, 2);
        let removed = store.remove(&[id(100)]).unwrap();
        assert_eq!((removed.runs, removed.studies, removed.trials), (0, 1, 2));
        assert_eq!(store.trials(&id(200)).unwrap(), [trial(3, 200, 0)]);
        assert_eq!(rows(&store, "event"), 1);
        // A trial of it that was still under way finds its study gone.
        assert!(matches!(
            store.record(&trial(4, 100, 1)),
            Err(StoreError::Unknown { .. })
        ));
        assert_integrity(&directory.store_path());
    }

    #[test]
    fn compacting_gives_the_space_back() {
        let directory = TestDirectory::new("compact");
        let mut store = directory.open();
        for nth in 0..200 {
            store.record(&run(nth)).unwrap();
        }
        let all: Vec<String> = (1..200).map(id).collect();
        store.remove(&all).unwrap();
        let (before, after) = store.compact().unwrap();
        assert!(after < before / 2, "{before} {after}");
        assert_eq!(found(&store, &id(0)), run(0));
    }

    #[test]
    fn runs_recorded_while_others_are_removed_stay() {
        let directory = TestDirectory::new("remove-many");
        let at = directory.store_path();
        let mut store = directory.open();
        for nth in 0..40 {
            store.record(&run(nth)).unwrap();
        }
        std::thread::scope(|scope| {
            for writer in 1..4 {
                let at = &at;
                scope.spawn(move || {
                    let mut store = Store::open(at).unwrap();
                    for nth in 0..10 {
                        store.record(&run(writer * 100 + nth)).unwrap();
                    }
                });
            }
            for nth in 0..40 {
                store.remove(&[id(nth)]).unwrap();
            }
            store.compact().unwrap();
        });
        let listed = store.list(&Filter::default()).unwrap();
        assert_eq!(listed.len(), 30);
        for nth in 0..10 {
            assert_eq!(found(&store, &id(100 + nth)), run(100 + nth));
        }
        assert_integrity(&at);
    }
}
