//! The requirements of an experiment that this machine or another host does not meet.

use std::fmt;
use std::io;

use caudal_lab::LabError;

/// A requirement that is not met.
#[derive(Debug)]
pub enum MissingRequirement {
    /// A congestion control of this kernel.
    CongestionControl(String),
    /// A lab on this machine.
    Lab(LabError),
    /// A server on another host.
    Server {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// The kernel's error.
        cause: io::Error,
    },
}

impl fmt::Display for MissingRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CongestionControl(name) => {
                write!(f, "this kernel offers no congestion control {name:?}")
            }
            Self::Lab(error) => error.fmt(f),
            Self::Server { host, port, cause } => {
                write!(f, "{host} does not answer on port {port}: {cause}")
            }
        }
    }
}
