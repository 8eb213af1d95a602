//! A file that the server serves.

use super::file_name::checked_name;
use crate::exit::Failure;
use caudal_measure::FileContent;

/// The file with this name.
///
/// # Errors
/// When no served file can have it.
pub(super) fn remote_file(name: &str) -> Result<FileContent, Failure> {
    Ok(FileContent::Remote {
        name: checked_name("--get", name)?,
    })
}
