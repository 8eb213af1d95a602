//! The directory of the sockets over which servers of this user tell their state.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The directory: in `/run` for root, otherwise in the user's runtime directory or the temporary one.
fn place(own: u32) -> PathBuf {
    if own == 0 && Path::new("/run").is_dir() {
        return PathBuf::from("/run/caudal");
    }
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|_| own != 0) {
        Some(directory) => PathBuf::from(directory).join("caudal"),
        None => std::env::temp_dir().join(format!("caudal-{own}")),
    }
}

/// The directory, made where it is missing; nobody else may look into it.
///
/// # Errors
/// When it cannot be made, or is not this user's alone.
pub(super) fn socket_directory() -> io::Result<PathBuf> {
    let own = fs::metadata("/proc/self").map_or(u32::MAX, |metadata| metadata.uid());
    let directory = place(own);
    match DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // In a directory that all users may write to, another user's directory could be a trap.
    let metadata = fs::symlink_metadata(&directory)?;
    if !metadata.is_dir() || metadata.uid() != own || metadata.mode() & 0o077 != 0 {
        let what = format!("{} is not this user's alone", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(directory)
}
