//! The tables, a step for each version that ever was: docs/store.md describes them for those who ask SQL.

use rusqlite::{Connection, TransactionBehavior};

/// Marks the file as ours: "caud" in ASCII.
pub(super) const APPLICATION: i64 = 0x6361_7564;

/// What leads from each version to the next, from none to 1 first. A step that has been released is never
/// changed: a later one changes what it made.
pub(super) const STEPS: [&str; 2] = [TABLES, LISTS];

/// Version 1: what is kept.
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

/// Version 2: what makes lists fast, what those who ask SQL may lean on, and that nothing is ever changed.
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

/// What a file says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing: it is new.
    Empty,
    /// That it is another program's.
    Foreign,
    /// That it is ours, of this version.
    Version(i64),
}

/// Whose the file is, without changing it, at one moment: another process may be making it meanwhile.
pub(super) fn look(connection: &Connection) -> rusqlite::Result<Found> {
    connection.execute_batch("SAVEPOINT look")?;
    let found = look_now(connection);
    connection.execute_batch("RELEASE look")?;
    found
}

fn look_now(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == APPLICATION && version > 0 {
        return Ok(Found::Version(version));
    }
    let things = number("SELECT count(*) FROM sqlite_schema")?;
    Ok(if application == 0 && version == 0 && things == 0 {
        Found::Empty
    } else {
        Found::Foreign
    })
}

/// Takes the file from its version to the last of `steps`, in one transaction: all of it or nothing.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been faster.
    let version = match look(&transaction)? {
        Found::Empty => {
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            0
        }
        Found::Version(version) => usize::try_from(version).unwrap_or(usize::MAX),
        Found::Foreign => return Ok(()),
    };
    for (nth, step) in steps.iter().enumerate().skip(version) {
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", nth as i64 + 1)?;
    }
    transaction.commit()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Place, count, found, id, is_whole, run, study, trial};
    use super::super::{Filter, Store};
    use super::*;

    #[test]
    fn nothing_that_is_kept_can_be_changed() {
        let place = Place::new("stays");
        let mut store = place.store();
        store.begin_study(&study(1, "echo")).unwrap();
        store.keep(&trial(2, 1, 0)).unwrap();
        store.keep(&run(3)).unwrap();
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
    fn what_its_owner_deletes_takes_all_of_it_along() {
        let place = Place::new("delete");
        let mut store = place.store();
        store.begin_study(&study(1, "echo")).unwrap();
        store.keep(&trial(2, 1, 0)).unwrap();
        store.keep(&run(3)).unwrap();
        store.tag(&id(3), "x").unwrap();
        // As docs/store.md tells.
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
        is_whole(&place.file());
    }

    /// The tables as version 1 made them, with a run, a study and a trial in them.
    const VERSION_1: &str = include_str!("version_1.sql");

    #[test]
    fn a_store_of_version_1_is_brought_up_to_this_with_all_it_holds() {
        let place = Place::new("version-1");
        let old = Connection::open(place.file()).unwrap();
        old.execute_batch(VERSION_1).unwrap();
        drop(old);
        // Many come for it at once, and one does it.
        let at = place.file();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Store::open(&at).unwrap());
            }
        });
        let mut store = place.store();
        assert_eq!(store.amounts().unwrap().version, STEPS.len() as i64);
        let kept = found(&store, "0123");
        assert_eq!(kept.document["summary"]["goodput_bps"]["mean"], 940e6);
        assert_eq!(kept.document["environment"]["client"]["name"], "here");
        assert_eq!(kept.environment["machine"]["meanwhile"]["steal"], 0.25);
        assert_eq!(kept.series[0].values, [5.0, 3.0, 4.0]);
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
        store.keep(&run(1)).unwrap();
        store.keep(&trial(2, 1, 1)).unwrap_err();
        drop(store);
        is_whole(&at);
    }

    #[test]
    fn every_earlier_version_leads_to_the_same_tables() {
        let place = Place::new("steps");
        let shape = |connection: &Connection| -> Vec<String> {
            connection
                .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap()
        };
        let fresh = shape(&place.store().connection);
        for version in 0..=STEPS.len() {
            let at = place.0.join(format!("{version}.db"));
            let mut old = Connection::open(&at).unwrap();
            if version > 0 {
                migrate(&mut old, &STEPS[..version]).unwrap();
                assert_eq!(look(&old).unwrap(), Found::Version(version as i64));
            }
            drop(old);
            assert_eq!(
                shape(&Store::open(&at).unwrap().connection),
                fresh,
                "from {version}"
            );
        }
        // What version 1 was is what the fixture says it was.
        let mut then = Connection::open_in_memory().unwrap();
        migrate(&mut then, &STEPS[..1]).unwrap();
        let fixture = Connection::open_in_memory().unwrap();
        fixture.execute_batch(VERSION_1).unwrap();
        assert_eq!(shape(&then), shape(&fixture));
    }

    #[test]
    fn a_step_that_fails_leaves_the_version_before_it() {
        let place = Place::new("half");
        let mut store = place.store();
        store.keep(&run(1)).unwrap();
        let steps = [STEPS[0], STEPS[1], "CREATE TABLE more (x) STRICT; nonsense"];
        assert!(migrate(&mut store.connection, &steps).is_err());
        drop(store);
        let store = place.store();
        assert_eq!(found(&store, &id(1)), run(1));
        assert_eq!(store.amounts().unwrap().version, 2);
    }
}
