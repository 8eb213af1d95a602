//! The location of the store's file, and its creation.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, chown};
use std::path::{Path, PathBuf};

/// The path of the store in the user's data directory.
const FILE: &str = "caudal/store.db";

/// Locates the store: explicitly, by environment, or in the home directory.
///
/// Source of the data directory: XDG Base Directory Specification 0.8, by which relative paths are ignored.
pub(super) fn locate(
    explicit: Option<&Path>,
    variable: impl Fn(&str) -> Option<OsString>,
    home: impl Fn() -> Option<PathBuf>,
) -> Option<PathBuf> {
    if let Some(path) = explicit {
        return Some(path.to_owned());
    }
    if let Some(named) = variable("CAUDAL_STORE") {
        return (!named.is_empty() && named != "none").then(|| named.into());
    }
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    variable("XDG_DATA_HOME")
        .map(PathBuf::from)
        .and_then(absolute)
        .or_else(|| Some(home().and_then(absolute)?.join(".local/share")))
        .map(|data| data.join(FILE))
}

/// `true` when the environment says where the store is, or that there is none.
pub(super) fn is_named_by_environment() -> bool {
    std::env::var_os("CAUDAL_STORE").is_some()
}

/// Creates an empty file for its owner alone, and the directories above it, where they do not exist.
///
/// A file that the superuser creates in another user's directory belongs to that user: a `sudo` that keeps the user's
/// home directory must not lock the user out.
pub(super) fn create(at: &Path) -> io::Result<()> {
    if is_there(at)? {
        return Ok(());
    }
    let parent = match at.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut missing: Vec<&Path> = parent
        .ancestors()
        .take_while(|above| !above.as_os_str().is_empty() && !above.exists())
        .collect();
    while let Some(directory) = missing.pop() {
        match DirBuilder::new().mode(0o700).create(directory) {
            Ok(()) => give_to_owner_of_directory(directory)?,
            // Another process may have been faster.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
    }
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(at);
    match made {
        Ok(_) => give_to_owner_of_directory(at),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(cause),
    }
}

/// `true` where there is a file, `false` where there is none.
///
/// # Errors
/// When it is no regular file: opening a FIFO waits for a writer, and a device is no place for a store.
pub(super) fn is_there(at: &Path) -> io::Result<bool> {
    match fs::metadata(at) {
        Ok(meta) if meta.is_file() => Ok(true),
        Ok(meta) if meta.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(meta) => {
            let kind = meta.file_type();
            let name = if kind.is_fifo() {
                "a FIFO"
            } else if kind.is_socket() {
                "a socket"
            } else {
                "a device"
            };
            Err(io::Error::other(format!(
                "it is {name}, not a regular file"
            )))
        }
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Gives a file created by the superuser to the owner of its directory.
fn give_to_owner_of_directory(made: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let above = match made.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let owner = fs::metadata(above)?;
    // A world-writable directory such as /tmp belongs to no user.
    if owner.uid() == 0 || owner.mode() & 0o002 != 0 {
        return Ok(());
    }
    chown(made, Some(owner.uid()), Some(owner.gid()))
}

/// The path of a file that SQLite creates beside the store.
fn sibling(at: &Path, suffix: &str) -> PathBuf {
    let mut name = at.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// `true` when the write-ahead log is empty, so that the file is complete.
pub(super) fn is_complete(at: &Path) -> bool {
    fs::metadata(sibling(at, "-wal")).map_or(true, |meta| meta.len() == 0)
}

/// The size of the store on disk, bytes.
pub(super) fn bytes(at: &Path) -> u64 {
    [at.to_owned(), sibling(at, "-wal")]
        .iter()
        .filter_map(|path| fs::metadata(path).ok())
        .map(|meta| meta.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explicit_path_precedes_the_environment_and_that_the_home_directory() {
        let data = "XDG_DATA_HOME";
        let store = "CAUDAL_STORE";
        type Case<'a> = (
            Option<&'a str>,
            &'a [(&'a str, &'a str)],
            Option<&'a str>,
            Option<&'a str>,
        );
        let cases: [Case<'_>; 11] = [
            (Some("a.db"), &[(store, "b.db")], Some("/h"), Some("a.db")),
            (Some("a.db"), &[(store, "none")], None, Some("a.db")),
            (
                None,
                &[(store, "b.db"), (data, "/d")],
                Some("/h"),
                Some("b.db"),
            ),
            (None, &[(store, "none"), (data, "/d")], Some("/h"), None),
            (None, &[(store, "")], Some("/h"), None),
            (
                None,
                &[(data, "/d")],
                Some("/h"),
                Some("/d/caudal/store.db"),
            ),
            (
                None,
                &[(data, "d")],
                Some("/h"),
                Some("/h/.local/share/caudal/store.db"),
            ),
            (
                None,
                &[(data, "")],
                Some("/h"),
                Some("/h/.local/share/caudal/store.db"),
            ),
            (
                None,
                &[],
                Some("/h"),
                Some("/h/.local/share/caudal/store.db"),
            ),
            (None, &[], Some("h"), None),
            (None, &[], None, None),
        ];
        for (flag, variables, home, expected) in cases {
            let found = locate(
                flag.map(Path::new),
                |name| {
                    let mut all = variables.iter();
                    all.find(|(known, _)| *known == name)
                        .map(|(_, value)| OsString::from(value))
                },
                || home.map(PathBuf::from),
            );
            assert_eq!(
                found.as_deref(),
                expected.map(Path::new),
                "{flag:?} {variables:?} {home:?}"
            );
        }
    }
}
