//! Why a test could not be carried out.

use caudal_wire::frame::FrameError;
use caudal_wire::message::Refusal;
use std::io;
use std::net::SocketAddr;

/// What stops a test, one variant for each thing a caller may do about it.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The name has no address.
    #[error("cannot find the host {host}: {cause}")]
    Resolve {
        /// The name as given.
        host: String,
        /// What the resolver said.
        cause: io::Error,
    },
    /// Nobody answers there.
    #[error("cannot connect to {peer}: {cause}")]
    Connect {
        /// The address tried last.
        peer: SocketAddr,
        /// What the kernel said.
        cause: io::Error,
    },
    /// Something answers that is not ours.
    #[error("{peer} does not speak caudal's protocol: {found}")]
    Foreign {
        /// The address.
        peer: SocketAddr,
        /// What it seems to be.
        found: String,
    },
    /// The versions do not fit.
    #[error("the peer speaks protocol {theirs}, this is {ours}")]
    Version {
        /// Our protocol version.
        ours: u8,
        /// The peer's.
        theirs: u8,
    },
    /// The server said no.
    #[error("the server refused: {message}")]
    Refused {
        /// The kind of reason.
        reason: Refusal,
        /// The reason in words.
        message: String,
    },
    /// The peer was silent for too long.
    #[error("{waiting_for} did not come within {seconds} s")]
    Silent {
        /// What was due.
        waiting_for: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The peer went away.
    #[error("the connection to the peer was lost while {doing}: {cause}")]
    Lost {
        /// What was going on.
        doing: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The peer broke the protocol.
    #[error("the peer broke the protocol: {0}")]
    Protocol(String),
    /// The kernel here did not grant something the plan cannot do without.
    #[error("{wanted}: {cause}")]
    Local {
        /// What was asked of the kernel.
        wanted: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The kernel here forbids something.
    #[error("not permitted here: {wanted}: {cause}")]
    Forbidden {
        /// What was asked of the kernel.
        wanted: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// No flow of the test lived to its end.
    #[error("every flow failed: {0}")]
    Flows(String),
    /// The plan makes no sense.
    #[error(transparent)]
    Plan(#[from] caudal_core::plan::PlanError),
    /// The user ended it before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

impl RunError {
    /// The kernel did not grant `wanted`: not permitted, or not possible.
    pub(crate) fn local(wanted: impl Into<String>, cause: io::Error) -> Self {
        let wanted = wanted.into();
        match cause.kind() {
            io::ErrorKind::PermissionDenied => Self::Forbidden { wanted, cause },
            _ => Self::Local { wanted, cause },
        }
    }
}

impl From<FrameError> for RunError {
    fn from(error: FrameError) -> Self {
        Self::Protocol(error.to_string())
    }
}
