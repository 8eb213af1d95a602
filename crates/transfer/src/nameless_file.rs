//! Files without a name, which vanish when they are closed.

use super::store_quota::StoredBytes;
use caudal_flow::TransferFileError;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, unlinkat};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Maximum attempts to find a free name, where the file system has no files without one.
const ATTEMPTS: u32 = 16;

/// A file without a name, with what it takes of the quota of clients.
#[derive(Debug)]
pub struct NamelessFile {
    pub(super) file: File,
    pub(super) room: Option<StoredBytes>,
}

impl From<File> for NamelessFile {
    /// A file that takes of no quota.
    fn from(file: File) -> Self {
        Self { file, room: None }
    }
}

/// A file without a name in the file system of a directory.
///
/// # Errors
/// When the directory cannot be used, or is not writable.
pub(super) fn nameless_file(directory: &Path) -> Result<File, TransferFileError> {
    let failed = |cause: rustix::io::Errno| TransferFileError::Directory {
        path: directory.to_owned(),
        cause: cause.into(),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, directory, flags, Mode::empty()).map_err(failed)?;
    nameless_file_at(directory.as_fd()).map_err(failed)
}

/// The same for an open directory.
pub(super) fn nameless_file_at(directory: BorrowedFd<'_>) -> rustix::io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let access = OFlags::RDWR | OFlags::CLOEXEC;
    match openat(directory, ".", access | OFlags::TMPFILE, mode) {
        Ok(file) => return Ok(File::from(file)),
        // A file system without them, or a kernel that takes the call for opening a directory.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => {}
        Err(cause) => return Err(cause),
    }
    let mut attempt = 0;
    loop {
        let name = format!(".caudal-{}-{attempt}", std::process::id());
        let new = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        match openat(directory, name.as_str(), access | new, mode) {
            Ok(file) => {
                unlinkat(directory, name.as_str(), AtFlags::empty())?;
                return Ok(File::from(file));
            }
            Err(rustix::io::Errno::EXIST) if attempt < ATTEMPTS => attempt += 1,
            Err(cause) => return Err(cause),
        }
    }
}
