//! Why traffic cannot be captured.

use std::io;
use std::path::PathBuf;

/// Why the traffic of a test cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum TestCaptureError {
    /// This user may not capture.
    #[error("capturing takes the capability CAP_NET_RAW")]
    NotPermitted,
    /// There is no such interface.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// The frames of the interface begin with neither Ethernet nor IP.
    #[error("the frames of {0} begin with neither Ethernet nor IP")]
    UnknownLink(String),
    /// The kernel does not capture there.
    #[error("{interface} cannot be captured: {cause}")]
    Capture {
        /// The interface.
        interface: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The file cannot be written.
    #[error("{path} cannot be written: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The path is not that of a regular file.
    #[error("{path} is no regular file", path = .0.display())]
    NotRegular(PathBuf),
}
