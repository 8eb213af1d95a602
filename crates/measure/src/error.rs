//! The errors of a measurement without a result.

use caudal_core::plan::PlanError;
use caudal_core::warning::Warning;
use caudal_engine::{OffloadError, RunError, TestCaptureError};
use caudal_wire::message::Refusal;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// An error that leaves a measurement without a result.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A test could not be carried out.
    #[error("{}", text(.0))]
    Run(#[from] RunError),
    /// A plan is out of range.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Nobody reads the result any more.
    #[error("nobody reads the result any more")]
    Unread,
    /// This host's loopback lacks its address, so that no server can be started on it.
    #[error("no server can be started here: this host has no address {0}")]
    NoLoopback(IpAddr),
    /// The input whose content is to be sent has none.
    #[error("{} is empty", .0.display())]
    EmptyInput(PathBuf),
    /// The path drops datagrams of every size that was asked for.
    #[error("{}", .0.message)]
    BlackHole(Warning),
    /// Traffic to the server leaves by no interface that offloads could be set of.
    #[error("there is no route to {0}")]
    NoRouteForOffloads(String),
    /// Traffic to the server leaves by no interface that could be captured, or that offloads could be set of.
    #[error("there is no route to {0}")]
    NoRouteToObserve(String),
    /// The host on the way cannot be asked for echoes.
    #[error("cannot send ICMP echo requests: {0}")]
    Echo(io::Error),
    /// A path cannot be probed for want of a socket.
    #[error("cannot probe {target}: {cause}")]
    ProbeSocket {
        /// The address.
        target: IpAddr,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A path cannot be probed because no packet gets out.
    #[error("there is no route to {target} by {interface}: {cause}")]
    NoRouteToProbe {
        /// The address.
        target: IpAddr,
        /// The interface by which probes would leave.
        interface: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A path cannot be probed because the kernel refuses probes.
    #[error("cannot probe {target}: {cause}")]
    ProbeChannel {
        /// The address.
        target: IpAddr,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The test's traffic cannot be captured.
    #[error(transparent)]
    Capture(#[from] TestCaptureError),
    /// The offloads of the interface cannot be set.
    #[error(transparent)]
    Offload(#[from] OffloadError),
}

/// The text of an error. "Here" in what a server says of its own kernel is the server's host.
fn text(error: &RunError) -> String {
    match error {
        RunError::Refused {
            reason: Refusal::Host,
            message,
        } => format!("the server refused, because of its own kernel: {message}"),
        error => error.to_string(),
    }
}
