//! Text files of limited length.

use std::fs::File;
use std::io::{self, Read};

/// Maximum length of a file that is read, bytes.
const MAX_BYTES: u64 = 16 << 20;

/// A file that cannot be read as text.
#[derive(Debug, thiserror::Error)]
pub enum TextFileError {
    /// It cannot be opened.
    #[error("cannot read {path}: {cause}")]
    Open {
        /// The file.
        path: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// It cannot be read to its end.
    #[error("cannot read {path}: {cause}")]
    Read {
        /// The file.
        path: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// It is too long.
    #[error("{0} is longer than 16 MiB")]
    TooLong(String),
    /// It is not UTF-8.
    #[error("{0} is not text")]
    NotText(String),
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read, is longer than 16 MiB, or is no text.
pub fn read_text_file(path: &str) -> Result<String, TextFileError> {
    let owned = || path.to_owned();
    let file = File::open(path).map_err(|cause| TextFileError::Open {
        path: owned(),
        cause,
    })?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|cause| TextFileError::Read {
        path: owned(),
        cause,
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(TextFileError::TooLong(owned()));
    }
    String::from_utf8(bytes).map_err(|_| TextFileError::NotText(owned()))
}
