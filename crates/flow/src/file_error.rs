//! Why a file cannot be read or stored.

use caudal_core::plan::FileNameError;
use caudal_core::units::ByteCount;
use std::io;
use std::path::PathBuf;

/// Why a file cannot be read or stored; every message is one line.
#[derive(Debug, thiserror::Error)]
pub enum TransferFileError {
    /// A directory cannot be used.
    #[error("the directory {path:?} cannot be used: {cause}")]
    Directory {
        /// The directory as given.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The kernel is too old to open files safely below a directory.
    #[error(
        "files can be served and stored on Linux 5.6 and later only: this kernel lacks openat2"
    )]
    NoOpenat2,
    /// The name leads out of the directory, or breaks a line.
    #[error("the name {name:?} is not allowed: {cause}")]
    Name {
        /// The name.
        name: String,
        /// The rule that it breaks.
        cause: FileNameError,
    },
    /// The name is that of a partial file.
    #[error("the name {name:?} is not allowed: .part and .part.journal are for partial files")]
    Reserved {
        /// The name.
        name: String,
    },
    /// No file has that name.
    #[error("there is no file {name:?}")]
    NotFound {
        /// The name.
        name: String,
    },
    /// The name, or a part of it, is a symbolic link.
    #[error("{name:?} is, or leads through, a symbolic link, and none is followed")]
    SymbolicLink {
        /// The name.
        name: String,
    },
    /// It is a directory, a device or the like.
    #[error("{name:?} is not a regular file")]
    NotRegular {
        /// The name.
        name: String,
    },
    /// The file exists.
    #[error("{name:?} exists already")]
    Exists {
        /// The name.
        name: String,
    },
    /// Another transfer writes the file.
    #[error("{name:?} is being written by another transfer")]
    Busy {
        /// The name.
        name: String,
    },
    /// The file does not fit.
    #[error("there is no space for {bytes}")]
    NoSpace {
        /// The size of the file.
        bytes: ByteCount,
    },
    /// The file does not fit in what clients may store.
    #[error(
        "{bytes} are more than the {left} that the server still stores for its clients (its --accept-bytes)"
    )]
    Quota {
        /// The size of the file, as far as it is known.
        bytes: ByteCount,
        /// What is left.
        left: ByteCount,
    },
    /// The file is not the one that was described.
    #[error("{name:?} has changed")]
    Changed {
        /// The name.
        name: String,
    },
    /// Reading the file was stopped.
    #[error("stopped while {name:?} was read")]
    Stopped {
        /// The name.
        name: String,
    },
    /// This server sends no files.
    #[error("the server serves no files (caudal serve --files DIR)")]
    ServesNone,
    /// This server keeps no files.
    #[error("the server stores no files (caudal serve --accept-files DIR)")]
    StoresNone,
    /// This end was given no content to send.
    #[error("there is no content to be sent")]
    NoContent,
    /// This end was given no directory for what arrives.
    #[error("there is no directory for what arrives")]
    NoDirectory,
    /// Standard input was read already.
    #[error("standard input can be sent once only")]
    StandardInput,
    /// The kernel refused something else.
    #[error("cannot {doing} {name:?}: {cause}")]
    Kernel {
        /// What it refused.
        doing: &'static str,
        /// The name.
        name: String,
        /// Why.
        cause: io::Error,
    },
}

impl TransferFileError {
    /// The error for a kernel that did not do something with a file.
    pub fn kernel(doing: &'static str, name: &str, cause: impl Into<io::Error>) -> Self {
        let (cause, name) = (cause.into(), name.to_owned());
        match cause.raw_os_error() {
            Some(libc::ENOENT) => Self::NotFound { name },
            Some(libc::ELOOP) => Self::SymbolicLink { name },
            Some(libc::ENOSYS) => Self::NoOpenat2,
            _ => Self::Kernel { doing, name, cause },
        }
    }
}
