//! Opening the store: it is created where there is none, migrated, or left alone where it is not ours.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::error::StoreError;
use crate::location;
use crate::schema::{FileState, MIGRATIONS, file_state, migrate};
use crate::store::Store;

/// The time to wait for a lock that others hold. Each holds it for one short transaction.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

impl Store {
    /// Opens the store at `at`. Creates it, and the directories above it, where there is none, and migrates one of an
    /// earlier version.
    ///
    /// # Errors
    /// When it cannot be created or read, is not a store, or is one of a later version: such a file is left unchanged.
    pub fn open(at: &Path) -> Result<Self, StoreError> {
        location::create(at).map_err(|cause| StoreError::from_io(at, cause))?;
        let connection = connect(at, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Self::prepare(connection, at)
    }

    /// Opens an existing store for reading, including one on a read-only file system.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none; otherwise as [`open`](Self::open).
    pub fn open_to_read(at: &Path) -> Result<Self, StoreError> {
        if !location::is_there(at).map_err(|cause| StoreError::from_io(at, cause))? {
            return Err(StoreError::Missing { at: at.to_owned() });
        }
        let opened = connect(at, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .and_then(|connection| Self::prepare(connection, at));
        match opened {
            Err(StoreError::ReadOnly { .. } | StoreError::Sqlite { .. })
                if location::is_complete(at) =>
            {
                // Where nothing can be written, the shared memory of processes cannot be created either. Nobody can change the
                // file then, and its log is empty, so it can be read as it is.
                let connection = connect_immutable(at)?;
                let store = Self {
                    connection,
                    at: at.to_owned(),
                };
                match store.file_state()? {
                    FileState::Version(version) if version == MIGRATIONS.len() as i64 => Ok(store),
                    _ => Err(StoreError::ReadOnly { at: at.to_owned() }),
                }
            }
            other => other,
        }
    }

    /// Checks the version of the file, configures the connection, and migrates the schema.
    fn prepare(connection: Connection, at: &Path) -> Result<Self, StoreError> {
        let mut store = Self {
            connection,
            at: at.to_owned(),
        };
        let known = MIGRATIONS.len() as i64;
        let found = store.file_state()?;
        match found {
            FileState::Version(theirs) if theirs > known => {
                return Err(StoreError::Newer {
                    at: at.to_owned(),
                    theirs,
                    ours: known,
                });
            }
            FileState::Foreign => return Err(StoreError::Foreign { at: at.to_owned() }),
            FileState::Empty | FileState::Version(_) => {}
        }
        let configured = store.configure();
        store.sqlite_result(configured)?;
        if found != FileState::Version(known) {
            let migrated = migrate(&mut store.connection, &MIGRATIONS);
            store.sqlite_result(migrated)?;
            // Another process may have made something else of an empty file meanwhile.
            match store.file_state()? {
                FileState::Version(version) if version >= known => {}
                _ => return Err(StoreError::Foreign { at: at.to_owned() }),
            }
        }
        Ok(store)
    }

    /// Configures the connection: concurrent readers and one writer, each transaction durable when it ends.
    fn configure(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode != "wal" {
            // Changing the mode needs an exclusive lock, and SQLite does not wait for that by itself. On a file
            // system without shared memory the mode stays unchanged, which is slower but as safe.
            let until = Instant::now() + LOCK_TIMEOUT;
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

    fn file_state(&self) -> Result<FileState, StoreError> {
        self.read(file_state)
    }
}

fn connect(at: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(at, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|cause| open_error(at, cause))?;
    connection
        .busy_timeout(LOCK_TIMEOUT)
        .map_err(|cause| StoreError::from_sqlite(at, cause))?;
    Ok(connection)
}

/// The reason why the file could not be opened: the system's error is more specific than SQLite's.
fn open_error(at: &Path, cause: rusqlite::Error) -> StoreError {
    match std::fs::OpenOptions::new().read(true).open(at) {
        Err(cause) => StoreError::Open {
            at: at.to_owned(),
            cause,
        },
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_dir()) => StoreError::Open {
            at: at.to_owned(),
            cause: std::io::ErrorKind::IsADirectory.into(),
        },
        Ok(_) => StoreError::from_sqlite(at, cause),
    }
}

/// A connection that treats the file as immutable.
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
        .map_err(|cause| open_error(at, cause))
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
    use super::*;
    use crate::filter::Filter;
    use crate::fixture::{TestDirectory, found, id, run};
    use std::fs;

    #[test]
    fn a_store_of_a_newer_version_is_left_alone() {
        let directory = TestDirectory::new("newer");
        directory.open().record(&run(1)).unwrap();
        let newer = Connection::open(directory.store_path()).unwrap();
        newer.pragma_update(None, "user_version", 99).unwrap();
        drop(newer);
        let before = fs::read(directory.store_path()).unwrap();
        for opened in [
            Store::open(&directory.store_path()),
            Store::open_to_read(&directory.store_path()),
        ] {
            match opened {
                Err(StoreError::Newer { theirs, ours, .. }) => {
                    assert_eq!((theirs, ours), (99, MIGRATIONS.len() as i64));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(fs::read(directory.store_path()).unwrap(), before);
    }

    #[test]
    fn a_file_that_is_not_a_store_is_left_alone() {
        let directory = TestDirectory::new("foreign");
        let text = directory.0.join("notes.txt");
        fs::write(&text, "Dear diary, ".repeat(200)).unwrap();
        let other = directory.0.join("other.db");
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
        let opened = Store::open(&directory.0);
        assert!(matches!(opened, Err(StoreError::Open { .. })), "{opened:?}");
        let missing = Store::open_to_read(&directory.store_path());
        assert!(
            matches!(missing, Err(StoreError::Missing { .. })),
            "{missing:?}"
        );
        assert!(!directory.store_path().exists());
    }

    #[test]
    fn a_fifo_or_a_device_is_refused_without_waiting() {
        let directory = TestDirectory::new("fifo");
        let fifo = directory.0.join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        for (at, kind) in [
            (fifo.as_path(), "a FIFO"),
            (Path::new("/dev/null"), "a device"),
        ] {
            for opened in [Store::open(at), Store::open_to_read(at)] {
                let text = opened.unwrap_err().to_string();
                assert!(text.contains(kind) && !text.contains('\n'), "{text}");
            }
        }
    }

    #[test]
    fn a_damaged_store_is_detected_and_left_unchanged() {
        let directory = TestDirectory::new("corrupt");
        let mut store = directory.open();
        for nth in 0..200 {
            store.record(&run(nth)).unwrap();
        }
        drop(store);
        let good = fs::read(directory.store_path()).unwrap();
        let page = 4096;
        assert!(good.len() > 20 * page);
        let mut damaged = 0;
        for at in 1..good.len() / page {
            let mut bytes = good.clone();
            bytes[at * page..(at + 1) * page].fill(0xa5);
            fs::write(directory.store_path(), &bytes).unwrap();
            let all = Store::open_to_read(&directory.store_path()).and_then(|store| {
                let entries = store.list(&Filter::default())?;
                entries
                    .iter()
                    .try_for_each(|entry| store.find(&entry.id).map(drop))
            });
            match all {
                Ok(()) => {}
                Err(StoreError::Corrupt { .. }) => damaged += 1,
                // A damaged page of the table of ids may also hide ids.
                Err(StoreError::Unknown { .. }) => {}
                Err(other) => panic!("page {at}: {other:?}"),
            }
            assert_eq!(
                fs::read(directory.store_path()).unwrap(),
                bytes,
                "page {at}"
            );
        }
        assert!(damaged > good.len() / page / 2, "{damaged}");
        fs::write(directory.store_path(), &good[..good.len() / 2]).unwrap();
        let cut = Store::open(&directory.store_path()).and_then(|mut store| {
            store.list(&Filter::default())?;
            store.record(&run(1000))
        });
        assert!(matches!(cut, Err(StoreError::Corrupt { .. })), "{cut:?}");
    }

    #[test]
    fn only_the_owner_can_access_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let directory = TestDirectory::new("private");
        let at = directory.0.join("data/caudal/store.db");
        let mut store = Store::open(&at).unwrap();
        store.record(&run(1)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&at), 0o600);
        assert_eq!(mode(&directory.0.join("data/caudal/store.db-wal")), 0o600);
        assert_eq!(mode(&directory.0.join("data/caudal")), 0o700);
        assert_eq!(mode(&directory.0.join("data")), 0o700);
    }

    #[test]
    fn a_read_only_file_can_still_be_read() {
        let directory = TestDirectory::new("name ? # % of it");
        let mut store = directory.open();
        store.record(&run(1)).unwrap();
        drop(store);
        let connection = connect_immutable(&directory.store_path()).unwrap();
        let store = Store {
            connection,
            at: directory.store_path(),
        };
        assert_eq!(found(&store, &id(1)), run(1));
        assert!(store.list(&Filter::default()).unwrap().len() == 1);
    }
}
