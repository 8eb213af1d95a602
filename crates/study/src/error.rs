//! The errors of a study that cannot begin or go on.

use crate::overrides::OverrideError;
use crate::text_file::TextFileError;
use caudal_engine::RunError;
use caudal_lab::LabError;
use caudal_store::StoreError;
use caudal_topology::FileError;
use std::{fmt, io};

/// An error that keeps a study from beginning or going on.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The experiment's file, or the topology file that it names, has an error.
    #[error(transparent)]
    File(#[from] FileError),
    /// The topology file that the experiment names cannot be read.
    #[error(transparent)]
    TopologyFile(TextFileError),
    /// A change of the experiment that cannot be made.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// This machine, or another one, lacks something that the experiment needs.
    #[error("{experiment} cannot run here, because {missing}")]
    CannotRun {
        /// The experiment.
        experiment: String,
        /// The thing that it lacks.
        missing: MissingRequirement,
    },
    /// The lab cannot be built or used.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The server on loopback cannot be started.
    #[error(transparent)]
    Server(#[from] RunError),
    /// A process cannot be started.
    #[error("cannot start {process} on {host}: {cause}")]
    Start {
        /// The process.
        process: String,
        /// The host that it was to run on.
        host: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The server on a host of the lab does not listen.
    #[error("caudal serve on {host} did not begin to listen: {output}")]
    NotListening {
        /// The host.
        host: String,
        /// The output of the server.
        output: String,
    },
    /// The directory for captures cannot be made.
    #[error("cannot write {path}: {cause}")]
    CaptureDirectory {
        /// The directory.
        path: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The offloads of an interface cannot be set.
    #[error("the offloads of {place} cannot be set: {why}")]
    Offload {
        /// The host and its interface.
        place: String,
        /// Why.
        why: String,
    },
    /// A host of the lab has no address.
    #[error("{host} has no address")]
    NoAddress {
        /// The host.
        host: String,
    },
    /// Neither end of a flow is another host.
    #[error("flow {flow:?} has no other host")]
    NoOtherHost {
        /// The flow.
        flow: String,
    },
    /// A flow sends at a share of a rate that is not known.
    #[error("{problem}")]
    UnknownRate {
        /// The flow, and the reason.
        problem: String,
    },
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store has no item with the id asked for, or several.
    #[error(transparent)]
    NotFound(StoreError),
    /// A study in the store is of a version of this program that writes studies in another way.
    #[error("study {id} was begun by another version: {cause}")]
    OtherVersion {
        /// The study.
        id: String,
        /// The first difference.
        cause: serde_json::Error,
    },
    /// A trial in the store is of a version of this program that writes trials in another way.
    #[error("trial {id} in the store is not one of this version: {cause}")]
    TrialOfOtherVersion {
        /// The trial.
        id: String,
        /// The first difference.
        cause: serde_json::Error,
    },
    /// A trial in the store has the document of a run.
    #[error("trial {id} in the store has the document of a run")]
    NotATrial {
        /// The trial.
        id: String,
    },
    /// The item of the store with this id is a run.
    #[error("{id} is a run, not a study")]
    NotAStudy {
        /// The beginning of its id.
        id: String,
    },
}

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
