//! Opening files below a directory: no path leads out of it, and no symbolic link is followed.

use caudal_core::plan::check_file_name;
use caudal_flow::TransferFileError;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

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
        match openat2(directory, name, flags | OFlags::CLOEXEC, mode, resolve) {
            Err(Errno::AGAIN) if attempt < ATTEMPTS => attempt += 1,
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// The directory of a name below a directory, made where it is missing, and the name's last component.
pub(super) fn make_parent<'a>(
    directory: BorrowedFd<'_>,
    name: &'a str,
) -> Result<(OwnedFd, &'a str), TransferFileError> {
    check_file_name(name).map_err(|cause| TransferFileError::Name {
        name: name.to_owned(),
        cause,
    })?;
    let failed = |cause: Errno| TransferFileError::kernel("make the directory of", name, cause);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut parent = open_beneath(directory, ".", flags, Mode::empty()).map_err(failed)?;
    let (directories, last) = name.rsplit_once('/').unwrap_or(("", name));
    for component in directories.split('/').filter(|one| !one.is_empty()) {
        match mkdirat(&parent, component, Mode::from_raw_mode(DIRECTORY_MODE)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(cause) => return Err(failed(cause)),
        }
        parent = open_beneath(parent.as_fd(), component, flags, Mode::empty()).map_err(failed)?;
    }
    Ok((parent, last))
}
