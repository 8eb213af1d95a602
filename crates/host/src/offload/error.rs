//! Why offloads cannot be set.

use std::io;
use std::path::PathBuf;

/// Why the offloads of an interface cannot be set for the time of a test.
#[derive(Debug, thiserror::Error)]
pub enum OffloadError {
    /// This user may not set them.
    #[error("setting offloads takes the capability CAP_NET_ADMIN")]
    NotPermitted,
    /// The driver reports no offloads.
    #[error("the driver of {0} reports no offloads")]
    None(String),
    /// Another test has set them.
    #[error("another test has set the offloads of {0} until it ends")]
    Busy(String),
    /// The state before cannot be recorded, without which it might not be restored.
    #[error("{path} cannot be written: {cause}", path = path.display())]
    Record {
        /// The directory of the record.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The driver refuses.
    #[error("the offloads of {interface} cannot be set: {cause}")]
    Set {
        /// The interface.
        interface: String,
        /// What the kernel said.
        cause: io::Error,
    },
}
