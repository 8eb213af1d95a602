//! The errors of a test that could not be carried out.

use crate::file_error::TransferFileError;
use caudal_core::opening::OpeningReport;
use caudal_core::plan::Quantity;
use caudal_core::tcp_proxy::TcpProxy;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use caudal_sys::process::open_file_limit;
use caudal_wire::frame::FrameError;
use caudal_wire::message::{Refusal, ToClient};
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::SocketAddr;

/// An error that stops a test, a variant for each thing a caller may do about it.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The name has no address.
    #[error("cannot find the host {host}: {cause}")]
    Resolve {
        /// The name as given.
        host: String,
        /// The resolver's error.
        cause: io::Error,
    },
    /// No connection could be made.
    #[error("cannot connect to {peer}: {cause}")]
    Connect {
        /// The address tried last.
        peer: SocketAddr,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The peer speaks another protocol.
    #[error("{peer} does not speak caudal's protocol: {found}")]
    Foreign {
        /// The address.
        peer: SocketAddr,
        /// A description of what it sent, or seems to be.
        found: ExternalText,
    },
    /// The versions do not match.
    #[error("the peer speaks protocol {theirs}, this is {ours}")]
    Version {
        /// The version of this program's protocol.
        ours: u8,
        /// The version of the peer's.
        theirs: u8,
    },
    /// The server refused.
    #[error("the server refused: {message}")]
    Refused {
        /// The kind of reason.
        reason: Refusal,
        /// The reason as text.
        message: ExternalText,
    },
    /// An answer did not come in time.
    #[error("{waiting_for} did not come within {seconds} s")]
    Silent {
        /// The answer that was expected.
        waiting_for: &'static str,
        /// The time limit for the answer, s.
        seconds: u64,
    },
    /// The connection to the peer was lost.
    #[error("the connection to the peer was lost while {doing}: {cause}")]
    Lost {
        /// The step that failed.
        doing: &'static str,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The peer violated the protocol.
    #[error("the peer broke the protocol: {0}")]
    Protocol(ExternalText),
    /// This machine's kernel did not grant something the plan needs.
    #[error("{wanted}: {cause}")]
    Local {
        /// The operation that the kernel did not allow.
        wanted: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// This process has no descriptor left.
    #[error("{wanted}: {}", too_many_files(*limit, *needed))]
    Descriptors {
        /// The operation that needs one.
        wanted: String,
        /// The number of descriptors that this process may have.
        limit: u64,
        /// The number that the test needs, where it is known.
        needed: Option<u64>,
    },
    /// Connections of one test reached different servers.
    #[error("{}", several_servers(*.peer, .what, found.as_ref()))]
    SeveralServers {
        /// The address that they were made to.
        peer: SocketAddr,
        /// What reached another server than the control connection.
        what: String,
        /// What that server said, where it is not known to be another one of caudal.
        found: Option<ExternalText>,
    },
    /// Flows of a test did not open.
    #[error("{opening}")]
    Unopened {
        /// How each of them opened.
        opening: Box<OpeningReport>,
        /// `true` when the server can carry the test out with those that did.
        can_go_on: bool,
    },
    /// UDP gets no answer where TCP is ended in the middle.
    #[error("UDP gets no answer: {proxy}, and UDP does not pass it")]
    UdpBehindProxy {
        /// What ends TCP.
        proxy: Box<TcpProxy>,
    },
    /// This machine's kernel does not permit something.
    #[error("not permitted here: {wanted}: {cause}")]
    Forbidden {
        /// The operation that the kernel did not allow.
        wanted: String,
        /// The kernel's error.
        cause: io::Error,
    },
    /// No flow of the test was completed.
    #[error("every flow failed: {0}")]
    Flows(ExternalText),
    /// The plan is out of range.
    #[error(transparent)]
    Plan(#[from] caudal_core::plan::PlanError),
    /// The server accepted something else than the plan that was offered.
    #[error("the server changed the plan beyond what it may: {0}")]
    Acceptance(#[from] caudal_wire::acceptance::AcceptanceError),
    /// The peer's protocol cannot carry a workload, or one of its settings.
    #[error("{protocol} does not support {what}")]
    Unsupported {
        /// The protocol.
        protocol: Protocol,
        /// The feature it does not support.
        what: Unsupported,
    },
    /// The server is of a version without a workload.
    #[error("the server is {tool}, which does not carry out {what}")]
    OlderServer {
        /// The program it reports to be.
        tool: ExternalText,
        /// The workload.
        what: &'static str,
    },
    /// The memory for clients is used up.
    #[error(transparent)]
    Memory(#[from] crate::memory::MemoryExhausted),
    /// A file cannot be read or stored at this end.
    #[error(transparent)]
    File(#[from] TransferFileError),
    /// A content is larger than the server allows.
    #[error("{bytes} are more than the {max} that the server allows")]
    LargeFile {
        /// The size of the content.
        bytes: ByteCount,
        /// The maximum.
        max: ByteCount,
    },
    /// The plan is beyond what the server allows.
    #[error("{0}")]
    BeyondLimit(String),
    /// The user ended the test before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

/// Something that a protocol does not support.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// The workload of the plan.
    #[error("{0}")]
    Workload(&'static str),
    /// A setting of the plan.
    #[error("{quantity}{}", detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}")))]
    Setting {
        /// The setting.
        quantity: Quantity,
        /// The values that are supported, as half a sentence.
        detail: Option<String>,
    },
}

impl RunError {
    /// The number of the kernel's error, where that is the reason.
    #[must_use]
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Local { cause, .. }
            | Self::Forbidden { cause, .. }
            | Self::Connect { cause, .. }
            | Self::Lost { cause, .. } => cause.raw_os_error(),
            Self::Descriptors { .. } => Some(libc::EMFILE),
            _ => None,
        }
    }

    /// The error for a kernel that did not grant `wanted`: not permitted, or not possible.
    pub fn local(wanted: impl Into<String>, cause: io::Error) -> Self {
        let wanted = wanted.into();
        if matches!(cause.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) {
            return Self::Descriptors {
                wanted,
                limit: open_file_limit(),
                needed: None,
            };
        }
        match cause.kind() {
            io::ErrorKind::PermissionDenied => Self::Forbidden { wanted, cause },
            _ => Self::Local { wanted, cause },
        }
    }
}

/// Descriptors of one end per flow: its socket, and the end of a pipe that its thread writes to.
const DESCRIPTORS_PER_FLOW: u64 = 2;
/// Further descriptors of one end; of a server, for a single client.
const OTHER_DESCRIPTORS: u64 = 20;

impl RunError {
    /// This error with the number of descriptors that a test of `flows` needs, where it is for want of them.
    pub fn with_needed_descriptors(self, flows: u32) -> Self {
        match self {
            Self::Descriptors { wanted, limit, .. } => Self::Descriptors {
                needed: Some(needed_descriptors(limit, flows)),
                wanted,
                limit,
            },
            other => other,
        }
    }
}

/// The number of descriptors that a test of `flows` needs at an end where `limit` were too few.
pub fn needed_descriptors(limit: u64, flows: u32) -> u64 {
    let of_test = DESCRIPTORS_PER_FLOW * u64::from(flows) + OTHER_DESCRIPTORS;
    of_test.max(limit.saturating_add(DESCRIPTORS_PER_FLOW))
}

/// The text of an error for want of descriptors.
pub fn too_many_files(limit: u64, needed: Option<u64>) -> String {
    let needed = needed.map_or_else(String::new, |needed| format!(", about {needed} are needed"));
    format!("too many open files: {limit} are allowed{needed}; raise `ulimit -n`")
}

/// The text of an error of connections that reached different servers.
fn several_servers(peer: SocketAddr, what: &str, found: Option<&ExternalText>) -> String {
    let why = format!(
        "{peer} stands for several servers (a load balancer, anycast or a name with several addresses)"
    );
    match found {
        None => format!("the control connection reached one server and {what} another: {why}"),
        Some(found) => format!("{what} was not accepted ({found}): perhaps {why}"),
    }
}

impl RunError {
    /// The error for a message of the server that is not `due`.
    pub fn unexpected(message: ToClient, due: &'static str) -> Self {
        match message {
            ToClient::Refused {
                reason, message, ..
            } => Self::Refused { reason, message },
            ToClient::Finished {
                stopped: Some(reason),
                ..
            } => Self::Refused {
                reason: Refusal::Stopping,
                message: reason,
            },
            _ => Self::Protocol(format!("expected {due}").into()),
        }
    }

    /// The error for a data socket of another transport than the plan's.
    pub fn wrong_socket() -> Self {
        Self::Protocol("a data socket of another transport than the plan's".into())
    }
}

impl From<FrameError> for RunError {
    fn from(error: FrameError) -> Self {
        Self::Protocol(error.to_string().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_out_of_descriptors_is_told_of_its_limit() {
        let error = RunError::local("opening a pipe", io::Error::from_raw_os_error(libc::EMFILE));
        let text = error.to_string();
        assert!(text.contains(&open_file_limit().to_string()), "{text}");
        assert!(text.contains("`ulimit -n`"), "{text}");
    }
}
