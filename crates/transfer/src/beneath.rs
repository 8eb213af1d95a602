//! Opening files below a directory: no path leads out of it, and no symbolic link is followed.

use caudal_core::plan::{check_file_name, name_bytes};
use caudal_flow::TransferFileError;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat, openat2, unlinkat,
};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The permissions of new directories, less those that the umask takes away.
const DIRECTORY_MODE: u32 = 0o777;
/// Maximum attempts of a call that races with a rename (openat2(2), `EAGAIN`).
const ATTEMPTS: u32 = 8;

/// Opens a directory, and checks that the kernel can keep paths below it.
pub(super) fn open_directory(path: &Path) -> Result<OwnedFd, TransferFileError> {
    let failed = |cause: Errno| match cause {
        Errno::NOSYS => TransferFileError::NoOpenat2,
        cause => TransferFileError::Directory {
            path: path.to_owned(),
            cause: cause.into(),
        },
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
    open_beneath(directory.as_fd(), ".", flags, Mode::empty()).map_err(failed)?;
    Ok(directory)
}

/// A name as the kernel has it.
pub(super) fn os_name(name: &str) -> Cow<'_, OsStr> {
    match name_bytes(name) {
        Cow::Borrowed(bytes) => Cow::Borrowed(OsStr::from_bytes(bytes)),
        Cow::Owned(bytes) => Cow::Owned(OsString::from_vec(bytes)),
    }
}

/// Opens `name` below a directory without following a link.
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut attempt = 0;
    loop {
        match openat2(
            directory,
            &*os_name(name),
            flags | OFlags::CLOEXEC,
            mode,
            resolve,
        ) {
            Err(Errno::AGAIN) if attempt < ATTEMPTS => attempt += 1,
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Maximum number of directories that are remembered as made.
const MAX_MADE: usize = 4096;

/// The directories that were made on behalf of one client, by device and inode. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnDirectories(Arc<Mutex<HashSet<(u64, u64)>>>);

impl OwnDirectories {
    fn add(&self, directories: impl Iterator<Item = (u64, u64)>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_MADE.saturating_sub(known.len());
        known.extend(directories.take(room));
    }

    /// `true` for a directory that was made on behalf of this client.
    pub(super) fn has(&self, directory: &OwnedFd) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        id(directory).is_some_and(|id| known.contains(&id))
    }
}

/// The device and the inode of a directory.
fn id(directory: &OwnedFd) -> Option<(u64, u64)> {
    let stat = fstat(directory).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// The directory of a name below a directory, made where it is missing, the name's last component, and the directories that were made.
pub(super) fn make_parent<'a>(
    directory: &Arc<OwnedFd>,
    own: &OwnDirectories,
    name: &'a str,
) -> Result<(OwnedFd, &'a str, MadeDirectories), TransferFileError> {
    check_file_name(name).map_err(|cause| TransferFileError::Name {
        name: name.to_owned(),
        cause,
    })?;
    let failed = |cause: Errno| TransferFileError::kernel("make the directory of", name, cause);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut parent = open_beneath(directory.as_fd(), ".", flags, Mode::empty()).map_err(failed)?;
    let (directories, last) = name.rsplit_once('/').unwrap_or(("", name));
    let mut made = MadeDirectories {
        root: Arc::clone(directory),
        own: own.clone(),
        paths: Vec::new(),
        ids: Vec::new(),
    };
    let mut path = String::new();
    for component in directories.split('/').filter(|one| !one.is_empty()) {
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(component);
        let is_new = new_directory(&parent, component).map_err(failed)?;
        if is_new {
            made.paths.push(path.clone());
        }
        parent = open_beneath(parent.as_fd(), component, flags, Mode::empty()).map_err(failed)?;
        if is_new {
            made.ids.extend(id(&parent));
        }
    }
    Ok((parent, last, made))
}

/// Makes a directory in another: `false` where something of that name is there.
pub(super) fn new_directory(parent: &OwnedFd, name: &str) -> rustix::io::Result<bool> {
    match mkdirat(parent, &*os_name(name), Mode::from_raw_mode(DIRECTORY_MODE)) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Directories that were made for a file, which go again with it: those that are empty are removed when this is dropped.
#[derive(Debug)]
pub(super) struct MadeDirectories {
    root: Arc<OwnedFd>,
    own: OwnDirectories,
    /// From the root on, the upper ones first.
    paths: Vec<String>,
    ids: Vec<(u64, u64)>,
}

impl MadeDirectories {
    /// Leaves them where they are.
    pub(super) fn keep(&mut self) {
        self.paths.clear();
        self.own.add(self.ids.drain(..));
    }

    /// Counts another directory among them, which stays in any case.
    pub(super) fn add(&mut self, directory: &OwnedFd) {
        self.ids.extend(id(directory));
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        for path in self.paths.iter().rev() {
            let (parent, last) = path.rsplit_once('/').unwrap_or((".", path));
            if let Ok(parent) = open_beneath(self.root.as_fd(), parent, flags, Mode::empty()) {
                // One in which something is, of another transfer, stays.
                let _ = unlinkat(&parent, &*os_name(last), AtFlags::REMOVEDIR);
            }
        }
    }
}
