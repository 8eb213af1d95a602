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
