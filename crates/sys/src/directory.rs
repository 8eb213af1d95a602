//! Directories that one user alone may write to.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// Creates a directory that this user alone may write to, where there is none.
///
/// # Errors
/// [`io::ErrorKind::PermissionDenied`] where it belongs to another user, others may write to it, or it is no directory; any error of mkdir(2).
pub fn create_own_directory(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
        _ => {}
    }
    let metadata = fs::symlink_metadata(directory)?;
    let own = fs::metadata("/proc/self")?.uid();
    if !metadata.is_dir() || metadata.uid() != own || metadata.mode() & 0o022 != 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}
