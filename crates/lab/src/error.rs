//! What keeps a lab from being built or asked.

use std::io;
use std::path::PathBuf;

/// A lab that cannot be, or that does not answer.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The system does not let this user have what a lab is made of.
    #[error("{what}; {remedy}")]
    NotPermitted {
        /// What is not permitted or missing.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// The kernel refused a step.
    #[error("cannot {doing}: {cause}")]
    Kernel {
        /// The step.
        doing: String,
        /// Its reason.
        #[source]
        cause: io::Error,
    },
    /// A value that no link can have.
    #[error(transparent)]
    Link(#[from] caudal_link::error::LinkError),
    /// Something was asked for that this lab does not have.
    #[error("{problem}; {remedy}")]
    Unknown {
        /// What.
        problem: String,
        /// What there is.
        remedy: String,
    },
    /// A file of the lab could not be written or read.
    #[error("cannot {doing} {}: {cause}", path.display())]
    File {
        /// To do what.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: io::Error,
    },
    /// The process that keeps the lab ended or does not answer.
    #[error("lab {name} does not answer: {reason}; run `caudal lab down {name}`")]
    Silent {
        /// The lab.
        name: String,
        /// Why.
        reason: String,
    },
}

impl LabError {
    /// The kernel refused to do something.
    pub(crate) fn kernel(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |cause| Self::Kernel { doing, cause }
    }

    /// Something there is not, and what there is.
    pub(crate) fn unknown(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Unknown {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// Whether it lies in what was asked for and not in this machine.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Link(_))
    }
}
