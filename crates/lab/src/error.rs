//! Failures to build, find or control a lab.

use std::io;
use std::path::PathBuf;

use caudal_link::error::LinkError;

/// A lab that cannot be built, found or controlled.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// This user may not have, or this system does not offer, something that a lab needs.
    #[error("{what}; {remedy}")]
    NotPermitted {
        /// The thing that is not permitted or missing.
        what: String,
        /// The way to solve it.
        remedy: String,
    },
    /// The kernel refused an operation.
    #[error("cannot {operation}: {cause}")]
    Kernel {
        /// The operation.
        operation: String,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// A value that no link can have.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A request for something that the lab does not have.
    #[error("{problem}; {remedy}")]
    Invalid {
        /// The problem.
        problem: String,
        /// The way to solve it.
        remedy: String,
    },
    /// The name of a new lab is that of one that is up.
    #[error("a lab called {name:?} is up")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// No lab is up.
    #[error("no lab is up")]
    NoLab,
    /// No lab of this name is up, but others are.
    #[error("no lab called {name:?} is up; up are {}", up.join(", "))]
    NoSuchLab {
        /// The name.
        name: String,
        /// The names of the labs that are up.
        up: Vec<String>,
    },
    /// More than one lab is up, and none was named.
    #[error("{} labs are up", up.len())]
    Ambiguous {
        /// The names of the labs that are up.
        up: Vec<String>,
    },
    /// A file of the lab could not be written or read.
    #[error("cannot {operation} {}: {cause}", path.display())]
    File {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// The process of a new lab ended before it replied.
    #[error("cannot run the lab: its process ended with the output: {output}")]
    DaemonEnded {
        /// The first line of its output.
        output: String,
    },
    /// The lab's process has ended or does not answer.
    #[error("lab {name} does not answer: {reason}")]
    NotResponding {
        /// The lab.
        name: String,
        /// The reason.
        reason: String,
    },
}

impl LabError {
    /// The conversion of the kernel's error for `operation`.
    pub(crate) fn kernel(operation: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let operation = operation.into();
        move |cause| Self::Kernel { operation, cause }
    }

    pub(crate) fn invalid(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Invalid {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// `true` when the request is wrong, rather than this machine.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Invalid { .. }
            | Self::Link(_)
            | Self::NameTaken { .. }
            | Self::NoLab
            | Self::NoSuchLab { .. }
            | Self::Ambiguous { .. } => true,
            Self::NotPermitted { .. }
            | Self::Kernel { .. }
            | Self::File { .. }
            | Self::DaemonEnded { .. }
            | Self::NotResponding { .. } => false,
        }
    }
}
