//! The schema, with the migration from each version to the next: docs/store.md describes it for users of SQL.

use rusqlite::{Connection, TransactionBehavior};

/// The application id of a store: "caud" in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x6361_7564;

/// The migrations from each version to the next, starting with the empty file. A step that has been released is never
/// changed: a later one changes its result.
pub(super) const MIGRATIONS: [&str; 7] = [
    TABLES, LISTS, DIRECTIONS, EPISODES, RESULTS, PARTS, OUTLINES,
];

/// Version 1: the tables.
const TABLES: &str = "
CREATE TABLE entry (
    nth INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
    started_ns INTEGER NOT NULL
) STRICT;
CREATE TABLE environment (
    digest TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE study (
    id TEXT PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    seed TEXT NOT NULL,
    command TEXT NOT NULL,
    environment TEXT NOT NULL REFERENCES environment (digest),
    varying TEXT NOT NULL,
    experiment_size INTEGER NOT NULL,
    experiment BLOB NOT NULL,
    campaign_size INTEGER NOT NULL,
    campaign BLOB NOT NULL
) STRICT;
CREATE TABLE event (
    nth INTEGER PRIMARY KEY,
    study TEXT NOT NULL REFERENCES study (id) ON DELETE CASCADE,
    at_ns INTEGER NOT NULL,
    event TEXT NOT NULL,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE run (
    id TEXT PRIMARY KEY REFERENCES entry (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    tool TEXT NOT NULL,
    peer TEXT,
    title TEXT,
    command TEXT NOT NULL,
    outcome TEXT NOT NULL,
    study TEXT REFERENCES study (id),
    study_case TEXT,
    repeat INTEGER,
    position INTEGER,
    baseline INTEGER,
    goodput_bps REAL,
    loss REAL,
    rtt_us REAL,
    retransmits REAL,
    environment TEXT NOT NULL REFERENCES environment (digest),
    varying TEXT NOT NULL
) STRICT;
CREATE TABLE document (
    run TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    machines TEXT,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL
) STRICT;
CREATE TABLE series (
    run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    nth INTEGER NOT NULL,
    flow INTEGER NOT NULL,
    name TEXT NOT NULL,
    unit TEXT NOT NULL,
    count INTEGER NOT NULL,
    size INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (run, nth)
) STRICT;
CREATE TABLE tag (
    nth INTEGER PRIMARY KEY,
    id TEXT NOT NULL REFERENCES entry (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    at_ns INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT;
";

/// Version 2: indices for lists, views for users of SQL, and triggers that forbid changes.
const LISTS: &str = "
CREATE INDEX entry_by_time ON entry (started_ns);
CREATE INDEX run_by_study ON run (study) WHERE study IS NOT NULL;
CREATE INDEX event_by_study ON event (study);
CREATE INDEX tag_by_id ON tag (id);
CREATE VIEW tagged AS
    SELECT id, tag FROM tag AS last
    WHERE held = 1 AND nth = (SELECT max(nth) FROM tag WHERE tag.id = last.id AND tag.tag = last.tag);
CREATE VIEW runs AS
    SELECT entry.id, datetime(started_ns / 1000000000, 'unixepoch') AS started, started_ns,
        kind, tool, peer, title, command, outcome, study, study_case, repeat, position, baseline,
        goodput_bps, loss, rtt_us, retransmits
    FROM run JOIN entry USING (id);
CREATE VIEW studies AS
    SELECT entry.id, datetime(started_ns / 1000000000, 'unixepoch') AS started, started_ns,
        name, title, seed, command,
        (SELECT count(*) FROM run WHERE run.study = entry.id) AS trials
    FROM study JOIN entry USING (id);
CREATE TRIGGER entry_stays BEFORE UPDATE ON entry BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER environment_stays BEFORE UPDATE ON environment BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER study_stays BEFORE UPDATE ON study BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER event_stays BEFORE UPDATE ON event BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER run_stays BEFORE UPDATE ON run BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER document_stays BEFORE UPDATE ON document BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER series_stays BEFORE UPDATE ON series BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
CREATE TRIGGER tag_stays BEFORE UPDATE ON tag BEGIN SELECT raise(ABORT, 'a store is only added to'); END;
";

/// Version 3: the goodput of each direction of a run with both.
const DIRECTIONS: &str = "
ALTER TABLE run ADD COLUMN up_bps REAL;
ALTER TABLE run ADD COLUMN down_bps REAL;
DROP VIEW runs;
CREATE VIEW runs AS
    SELECT entry.id, datetime(started_ns / 1000000000, 'unixepoch') AS started, started_ns,
        kind, tool, peer, title, command, outcome, study, study_case, repeat, position, baseline,
        goodput_bps, loss, rtt_us, retransmits, up_bps, down_bps
    FROM run JOIN entry USING (id);
";

/// Version 4: the number of episodes of a run.
const EPISODES: &str = "
ALTER TABLE run ADD COLUMN episodes INTEGER;
DROP VIEW runs;
CREATE VIEW runs AS
    SELECT entry.id, datetime(started_ns / 1000000000, 'unixepoch') AS started, started_ns,
        kind, tool, peer, title, command, outcome, study, study_case, repeat, position, baseline,
        goodput_bps, loss, rtt_us, retransmits, up_bps, down_bps, episodes
    FROM run JOIN entry USING (id);
";

/// Version 5: the result of kinds whose result is not one of those numbers.
const RESULTS: &str = "
ALTER TABLE run ADD COLUMN result TEXT;
DROP VIEW runs;
CREATE VIEW runs AS
    SELECT entry.id, datetime(started_ns / 1000000000, 'unixepoch') AS started, started_ns,
        kind, tool, peer, title, command, outcome, study, study_case, repeat, position, baseline,
        goodput_bps, loss, rtt_us, retransmits, up_bps, down_bps, episodes, result
    FROM run JOIN entry USING (id);
";

/// Version 6: the run that another is a part of.
const PARTS: &str = "
ALTER TABLE run ADD COLUMN part_of TEXT;
CREATE INDEX run_by_whole ON run (part_of) WHERE part_of IS NOT NULL;
DROP VIEW runs;
CREATE VIEW runs AS
    SELECT entry.id, datetime(started_ns / 1000000000, 'unixepoch') AS started, started_ns,
        kind, tool, peer, title, command, outcome, study, study_case, repeat, position, baseline,
        goodput_bps, loss, rtt_us, retransmits, up_bps, down_bps, episodes, result, part_of
    FROM run JOIN entry USING (id);
";

/// Version 7: the course of a run in a few points, for lists; the view for users of SQL stays without it.
const OUTLINES: &str = "
ALTER TABLE run ADD COLUMN outline TEXT;
";

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// A new, empty file.
    Empty,
    /// A file of another program.
    Foreign,
    /// A store of this version.
    Version(i64),
}

/// The state of the file, read at one moment without changing it: another process may be creating it.
pub(super) fn file_state(connection: &Connection) -> rusqlite::Result<FileState> {
    connection.execute_batch("SAVEPOINT look")?;
    let found = read_file_state(connection);
    connection.execute_batch("RELEASE look")?;
    found
}

fn read_file_state(connection: &Connection) -> rusqlite::Result<FileState> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == APPLICATION_ID && version > 0 {
        return Ok(FileState::Version(version));
    }
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    Ok(if application == 0 && version == 0 && objects == 0 {
        FileState::Empty
    } else {
        FileState::Foreign
    })
}

/// Migrates the file from its version through the last of `migrations`, in one transaction.
pub(super) fn migrate(connection: &mut Connection, migrations: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it already.
    let version = match file_state(&transaction)? {
        FileState::Empty => {
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            0
        }
        FileState::Version(version) => usize::try_from(version).unwrap_or(usize::MAX),
        FileState::Foreign => return Ok(()),
    };
    for (nth, step) in migrations.iter().enumerate().skip(version) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", nth as i64 + 1)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::StoredDocument;
    use crate::filter::Filter;
    use crate::fixture::{TestDirectory, assert_integrity, count, found, id, run, study, trial};
    use crate::store::Store;

    #[test]
    fn recorded_data_cannot_be_changed() {
        let directory = TestDirectory::new("stays");
        let mut store = directory.open();
        store.record_study(&study(1, "echo")).unwrap();
        store.record(&trial(2, 1, 0)).unwrap();
        store.record(&run(3)).unwrap();
        store.tag(&id(3), "x").unwrap();
        for (table, column) in [
            ("entry", "started_ns"),
            ("environment", "size"),
            ("study", "name"),
            ("event", "event"),
            ("run", "goodput_bps"),
            ("document", "size"),
            ("series", "unit"),
            ("tag", "held"),
        ] {
            assert!(count(&store, table) > 0, "{table} is empty");
            let sql = format!("UPDATE {table} SET {column} = 1");
            let error = store.connection.execute(&sql, []).unwrap_err();
            assert!(
                error.to_string().contains("only added to"),
                "{table}: {error}"
            );
        }
    }

    #[test]
    fn deleting_an_entry_deletes_everything_that_belongs_to_it() {
        let directory = TestDirectory::new("delete");
        let mut store = directory.open();
        store.record_study(&study(1, "echo")).unwrap();
        store.record(&trial(2, 1, 0)).unwrap();
        store.record(&run(3)).unwrap();
        store.tag(&id(3), "x").unwrap();
        // As described in docs/store.md.
        store
            .connection
            .execute("DELETE FROM entry WHERE id = ?", [id(3)])
            .unwrap();
        assert_eq!((count(&store, "series"), count(&store, "tag")), (0, 0));
        store
            .connection
            .execute(
                "DELETE FROM entry WHERE id = ?1 OR id IN (SELECT id FROM run WHERE study = ?1)",
                [id(1)],
            )
            .unwrap();
        for table in ["entry", "run", "study", "event", "document"] {
            assert_eq!(count(&store, table), 0, "{table}");
        }
        drop(store);
        assert_integrity(&directory.store_path());
    }

    /// The tables as version 1 made them, with a run, a study and a trial in them.
    const VERSION_1: &str = include_str!("version_1.sql");

    #[test]
    fn a_store_of_version_1_is_migrated_with_its_data() {
        let directory = TestDirectory::new("version-1");
        let old = Connection::open(directory.store_path()).unwrap();
        old.execute_batch(VERSION_1).unwrap();
        drop(old);
        // Several open it at the same time, and one migrates it.
        let at = directory.store_path();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Store::open(&at).unwrap());
            }
        });
        let mut store = directory.open();
        assert_eq!(store.summary().unwrap().version, MIGRATIONS.len() as i64);
        let stored = found(&store, "0123");
        let StoredDocument::Run(document) = &stored.document else {
            panic!("{stored:?}");
        };
        let goodput = document.throughput().unwrap().goodput_bps.unwrap();
        assert_eq!(goodput.mean, 940e6);
        let here = document.environment.as_ref().unwrap().client.as_ref();
        assert_eq!(here.unwrap().name, "here");
        let load = stored.environment.machine.unwrap().meanwhile.unwrap();
        assert_eq!(load.cpu.unwrap().steal, 0.25);
        assert_eq!(stored.series[0].values, [5.0, 3.0, 4.0]);
        let listed = store
            .list(&Filter {
                trials: true,
                ..Filter::default()
            })
            .unwrap();
        let kinds: Vec<&str> = listed.iter().map(|entry| entry.kind.as_str()).collect();
        assert_eq!(kinds, ["trial", "study", "tcp"]);
        assert_eq!(listed[2].tags, ["golden"]);
        assert_eq!(store.trials(&listed[1].id).unwrap().len(), 1);
        store.record(&run(1)).unwrap();
        store.record(&trial(2, 1, 1)).unwrap_err();
        drop(store);
        assert_integrity(&at);
    }

    #[test]
    fn every_earlier_version_migrates_to_the_same_schema() {
        let directory = TestDirectory::new("steps");
        let shape = |connection: &Connection| -> Vec<String> {
            connection
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap()
        };
        let fresh = shape(&directory.open().connection);
        for version in 0..=MIGRATIONS.len() {
            let at = directory.0.join(format!("{version}.db"));
            let mut old = Connection::open(&at).unwrap();
            if version > 0 {
                migrate(&mut old, &MIGRATIONS[..version]).unwrap();
                assert_eq!(
                    file_state(&old).unwrap(),
                    FileState::Version(version as i64)
                );
            }
            drop(old);
            assert_eq!(
                shape(&Store::open(&at).unwrap().connection),
                fresh,
                "from {version}"
            );
        }
        // The fixture has the schema of version 1.
        let mut then = Connection::open_in_memory().unwrap();
        migrate(&mut then, &MIGRATIONS[..1]).unwrap();
        let fixture = Connection::open_in_memory().unwrap();
        fixture.execute_batch(VERSION_1).unwrap();
        assert_eq!(shape(&then), shape(&fixture));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_previous_version() {
        let directory = TestDirectory::new("half");
        let mut store = directory.open();
        store.record(&run(1)).unwrap();
        let steps = [&MIGRATIONS[..], &["CREATE TABLE more (x) STRICT; nonsense"]].concat();
        assert!(migrate(&mut store.connection, &steps).is_err());
        drop(store);
        let store = directory.open();
        assert_eq!(found(&store, &id(1)), run(1));
        assert_eq!(store.summary().unwrap().version, MIGRATIONS.len() as i64);
    }
}
