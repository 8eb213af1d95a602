//! Opening the file: made where there is none, brought up to this version, left alone where it is not ours.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use super::schema::{Found, STEPS, look, migrate};
use super::{Store, StoreError, place};

/// How long others may hold the file before one gives up. Each holds it for one short transaction.
const PATIENCE: Duration = Duration::from_secs(10);

impl Store {
    /// Opens the store at `at`; makes it, and the directories above it, where there is none, and brings one of an
    /// earlier version up to this.
    ///
    /// # Errors
    /// When it cannot be made or read, is no store of ours or a later version's: it is left as it is then.
    pub fn open(at: &Path) -> Result<Self, StoreError> {
        place::make(at).map_err(|cause| StoreError::Open {
            at: at.to_owned(),
            cause,
        })?;
        let connection = connect(at, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Self::prepare(connection, at)
    }

    /// Opens a store that exists, to look at it; also one that may only be read.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none; otherwise as [`open`](Self::open).
    pub fn open_to_read(at: &Path) -> Result<Self, StoreError> {
        match std::fs::metadata(at) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { at: at.to_owned() });
            }
            Err(cause) => {
                let at = at.to_owned();
                return Err(StoreError::Open { at, cause });
            }
            Ok(_) => {}
        }
        let opened = connect(at, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .and_then(|connection| Self::prepare(connection, at));
        match opened {
            Err(StoreError::ReadOnly { .. } | StoreError::Sqlite { .. }) if place::is_whole(at) => {
                // Where nothing can be written, what is shared between processes cannot be made either. Nobody
                // can change the file meanwhile, and nothing waits beside it, so it can be read as it is.
                let connection = connect_immutable(at)?;
                let store = Self {
                    connection,
                    at: at.to_owned(),
                };
                match store.look()? {
                    Found::Version(version) if version == STEPS.len() as i64 => Ok(store),
                    _ => Err(StoreError::ReadOnly { at: at.to_owned() }),
                }
            }
            other => other,
        }
    }

    /// Opens a store to add to it, by the file's own rules of caution.
    fn prepare(connection: Connection, at: &Path) -> Result<Self, StoreError> {
        let mut store = Self {
            connection,
            at: at.to_owned(),
        };
        let known = STEPS.len() as i64;
        let found = store.look()?;
        match found {
            Found::Version(theirs) if theirs > known => {
                return Err(StoreError::Newer {
                    at: at.to_owned(),
                    theirs,
                    ours: known,
                });
            }
            Found::Foreign => return Err(StoreError::Foreign { at: at.to_owned() }),
            Found::Empty | Found::Version(_) => {}
        }
        let settings = store.settle();
        store.told(settings)?;
        if found != Found::Version(known) {
            let migrated = migrate(&mut store.connection, &STEPS);
            store.told(migrated)?;
            // Somebody else may have made something else of an empty file meanwhile.
            match store.look()? {
                Found::Version(version) if version >= known => {}
                _ => return Err(StoreError::Foreign { at: at.to_owned() }),
            }
        }
        Ok(store)
    }

    /// How the file is written: readers and one writer at once, each transaction on the disk when it ends.
    fn settle(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode != "wal" {
            // Whoever changes the mode wants the file alone, and SQLite does not wait for that by itself. On a file
            // system without shared memory the mode stays as it was, which is slower and as safe.
            let until = Instant::now() + PATIENCE;
            loop {
                let changed = connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()));
                match changed {
                    Err(error) if is_busy(&error) && Instant::now() < until => {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    other => break other?,
                }
            }
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)
    }

    fn look(&self) -> Result<Found, StoreError> {
        self.read(look)
    }
}

fn connect(at: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(at, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|cause| opening(at, cause))?;
    connection
        .busy_timeout(PATIENCE)
        .map_err(|cause| StoreError::of(at, cause))?;
    Ok(connection)
}

/// Why the file could not be opened: what the system says of it tells more than SQLite does.
fn opening(at: &Path, cause: rusqlite::Error) -> StoreError {
    match std::fs::OpenOptions::new().read(true).open(at) {
        Err(cause) => StoreError::Open {
            at: at.to_owned(),
            cause,
        },
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_dir()) => StoreError::Open {
            at: at.to_owned(),
            cause: std::io::ErrorKind::IsADirectory.into(),
        },
        Ok(_) => StoreError::of(at, cause),
    }
}

/// A connection that takes the file for one that nobody changes.
fn connect_immutable(at: &Path) -> Result<Connection, StoreError> {
    use std::os::unix::ffi::OsStrExt;
    let escaped: String = at
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
        .map_err(|cause| opening(at, cause))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::super::fixture::{Place, found, id, run};
    use super::*;
    use std::fs;

    #[test]
    fn a_store_of_a_newer_version_is_left_alone() {
        let place = Place::new("newer");
        place.store().keep(&run(1)).unwrap();
        let newer = Connection::open(place.file()).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
        drop(newer);
        let before = fs::read(place.file()).unwrap();
        for opened in [
            Store::open(&place.file()),
            Store::open_to_read(&place.file()),
        ] {
            match opened {
                Err(StoreError::Newer { theirs, ours, .. }) => assert_eq!((theirs, ours), (99, 2)),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(fs::read(place.file()).unwrap(), before);
    }

    #[test]
    fn what_is_no_store_is_left_alone() {
        let place = Place::new("foreign");
        let text = place.0.join("notes.txt");
        fs::write(&text, "Dear diary, ".repeat(200)).unwrap();
        let other = place.0.join("other.db");
        let connection = Connection::open(&other).unwrap();
        connection
            .execute_batch("CREATE TABLE bookmarks (url)")
            .unwrap();
        drop(connection);
        for at in [text, other] {
            let before = fs::read(&at).unwrap();
            for opened in [Store::open(&at), Store::open_to_read(&at)] {
                assert!(
                    matches!(opened, Err(StoreError::Foreign { .. })),
                    "{at:?}: {opened:?}"
                );
            }
            assert_eq!(fs::read(&at).unwrap(), before);
        }
        let opened = Store::open(&place.0);
        assert!(matches!(opened, Err(StoreError::Open { .. })), "{opened:?}");
        let missing = Store::open_to_read(&place.file());
        assert!(
            matches!(missing, Err(StoreError::Missing { .. })),
            "{missing:?}"
        );
        assert!(!place.file().exists());
    }

    #[test]
    fn a_damaged_store_is_told_from_a_good_one_and_left_as_it_is() {
        let place = Place::new("corrupt");
        let mut store = place.store();
        for nth in 0..200 {
            store.keep(&run(nth)).unwrap();
        }
        drop(store);
        let good = fs::read(place.file()).unwrap();
        let page = 4096;
        assert!(good.len() > 20 * page);
        let mut damaged = 0;
        for at in 1..good.len() / page {
            let mut bytes = good.clone();
            bytes[at * page..(at + 1) * page].fill(0xa5);
            fs::write(place.file(), &bytes).unwrap();
            let all = Store::open_to_read(&place.file()).and_then(|store| {
                let entries = store.list(&Filter::default())?;
                entries
                    .iter()
                    .try_for_each(|entry| store.find(&entry.id).map(drop))
            });
            match all {
                Ok(()) => {}
                Err(StoreError::Corrupt { .. }) => damaged += 1,
                // A page of the table of ids that is gone may also hide ids.
                Err(StoreError::Unknown { .. }) => {}
                Err(other) => panic!("page {at}: {other:?}"),
            }
            assert_eq!(fs::read(place.file()).unwrap(), bytes, "page {at}");
        }
        assert!(damaged > good.len() / page / 2, "{damaged}");
        fs::write(place.file(), &good[..good.len() / 2]).unwrap();
        let cut = Store::open(&place.file()).and_then(|mut store| {
            store.list(&Filter::default())?;
            store.keep(&run(1000))
        });
        assert!(matches!(cut, Err(StoreError::Corrupt { .. })), "{cut:?}");
    }

    #[test]
    fn the_file_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = Place::new("private");
        let at = place.0.join("data/caudal/store.db");
        let mut store = Store::open(&at).unwrap();
        store.keep(&run(1)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&at), 0o600);
        assert_eq!(mode(&place.0.join("data/caudal/store.db-wal")), 0o600);
        assert_eq!(mode(&place.0.join("data/caudal")), 0o700);
        assert_eq!(mode(&place.0.join("data")), 0o700);
    }

    #[test]
    fn a_file_that_nobody_may_change_can_still_be_read() {
        let place = Place::new("name ? # % of it");
        let mut store = place.store();
        store.keep(&run(1)).unwrap();
        drop(store);
        let connection = connect_immutable(&place.file()).unwrap();
        let store = Store {
            connection,
            at: place.file(),
        };
        assert_eq!(found(&store, &id(1)), run(1));
        assert!(store.list(&Filter::default()).unwrap().len() == 1);
    }
}
