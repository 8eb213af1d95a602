//! The failure of a measurement, as the command reports it.

use crate::exit::{Exit, Failure};
use crate::flag::flag;
use caudal_core::plan::PlanError;
use caudal_engine::{OffloadError, TestCaptureError};
use caudal_measure::MeasureError;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::Path;

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        match error {
            MeasureError::Run(error) => error.into(),
            MeasureError::Plan(error) => plan_failure(&error),
            MeasureError::Unread => Self::unread(),
            MeasureError::NoLoopback(loopback) => no_loopback(loopback),
            MeasureError::EmptyInput(path) => empty_input(&path),
            MeasureError::BlackHole(warning) => Self::new(
                Exit::Failed,
                warning.message.to_string(),
                warning.remedy.to_string(),
            ),
            MeasureError::NoRouteForOffloads(host) => Self::new(
                Exit::Peer,
                format!("--offload: there is no route to {host}"),
                "check its address and this machine's routes",
            ),
            MeasureError::NoRouteToObserve(server) => Self::new(
                Exit::Peer,
                format!("--capture or --offload: there is no route to {server}"),
                "check this machine's routes",
            ),
            MeasureError::Echo(ref cause) => Self::new(
                match cause.kind() {
                    ErrorKind::PermissionDenied => Exit::NotPermitted,
                    _ => Exit::Peer,
                },
                format!("--via: {error}"),
                "run it as root, allow this user ICMP (sysctl net.ipv4.ping_group_range), or check the address",
            ),
            MeasureError::ProbeSocket { ref cause, .. } => Self::new(
                match cause.kind() {
                    ErrorKind::PermissionDenied => Exit::NotPermitted,
                    ErrorKind::AddrNotAvailable => Exit::Usage,
                    _ => Exit::Peer,
                },
                error.to_string(),
                "see `ip route get`, and give --bind an address of this machine",
            ),
            MeasureError::NoRouteToProbe { .. } => {
                Self::new(Exit::Peer, error.to_string(), "see `ip route get`")
            }
            MeasureError::ProbeChannel { ref cause, .. } => Self::new(
                match cause.kind() {
                    ErrorKind::PermissionDenied => Exit::NotPermitted,
                    _ => Exit::Failed,
                },
                error.to_string(),
                "see whether a firewall of this machine refuses UDP",
            ),
            MeasureError::Capture(error) => error.into(),
            MeasureError::Offload(error) => error.into(),
        }
    }
}

/// The failure to start a server on loopback, which has not its address, with what gives it that.
fn no_loopback(loopback: IpAddr) -> Failure {
    let prefix = if loopback.is_ipv4() { 8 } else { 128 };
    Failure::new(
        Exit::NotPermitted,
        MeasureError::NoLoopback(loopback).to_string(),
        format!(
            "name a HOST, or give loopback its address (ip addr add {loopback}/{prefix} dev lo; ip link set lo up)"
        ),
    )
}

/// The failure of a plan's check, with the flag that is out of range.
#[must_use]
pub fn plan_failure(error: &PlanError) -> Failure {
    Failure::usage(
        format!(
            "{} is {}; {}",
            flag(error.quantity),
            error.value,
            error.allowed
        ),
        "see --help",
    )
}

/// The failure of a test without input.
pub(crate) fn empty_input(path: &Path) -> Failure {
    let name = if path.as_os_str() == "-" {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    Failure::usage(
        format!("--file: {name} is empty"),
        "name a file with content",
    )
}

impl From<OffloadError> for Failure {
    fn from(error: OffloadError) -> Self {
        let (exit, advice) = match error {
            OffloadError::NotPermitted => (
                Exit::NotPermitted,
                "run it as root, or leave --offload out: frames of several segments are recognised as such",
            ),
            OffloadError::None(_) => (Exit::NotPermitted, "leave --offload out"),
            OffloadError::Busy(_) => (Exit::NotPermitted, "wait until that one has ended"),
            OffloadError::Record { .. } => (
                Exit::NotPermitted,
                "run it as root, or set XDG_RUNTIME_DIR to a directory of yours: the state before is kept there",
            ),
            OffloadError::Set { .. } => (Exit::NotPermitted, "leave --offload out"),
        };
        Self::new(exit, format!("--offload: {error}"), advice)
    }
}

impl From<TestCaptureError> for Failure {
    fn from(error: TestCaptureError) -> Self {
        let (exit, advice) = match error {
            TestCaptureError::NotPermitted => (
                Exit::NotPermitted,
                "run it as root, or give the program that capability: setcap cap_net_raw+ep $(which caudal)",
            ),
            TestCaptureError::NoInterface(_) => {
                (Exit::Usage, "give --device an interface of `ip link`")
            }
            TestCaptureError::UnknownLink(_) | TestCaptureError::Capture { .. } => {
                (Exit::NotPermitted, "leave --capture out")
            }
            TestCaptureError::File { .. } => (Exit::Failed, "name a file that can be written"),
            TestCaptureError::NotRegular(_) => (Exit::Usage, "name a file that may be replaced"),
        };
        Self::new(exit, format!("--capture: {error}"), advice)
    }
}
