//! The result of probing, and why there is none.

use caudal_core::path::PathReport;
use caudal_core::warning::Warning;
use std::io;

/// What probing found.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbedPath {
    /// The hops and all that belongs to them.
    pub report: PathReport,
    /// The doubts.
    pub warnings: Vec<Warning>,
}

/// The reason why nothing was found.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The kernel did not carry out a call.
    #[error("cannot probe")]
    Channel(#[source] io::Error),
    /// This machine knows no way there.
    #[error("there is no route")]
    NoRoute(#[source] io::Error),
}

impl From<io::Error> for ProbeError {
    fn from(cause: io::Error) -> Self {
        match cause.raw_os_error() {
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => Self::NoRoute(cause),
            _ => Self::Channel(cause),
        }
    }
}
