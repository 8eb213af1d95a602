//! The capture and the offloads of a command, from before it connects until its traffic has ended.

use super::args::{CaptureArgs, OffloadSwitch};
use super::findings::findings;
use crate::args::TargetArgs;
use crate::exit::{Exit, Failure};
use crate::peer::CommandPeer;
use caudal_core::run::{Run, RunCapture};
use caudal_engine::{
    CapturedTraffic, OffloadError, OffloadGuard, StartedRun, TestCapture, TestCaptureError,
    TestCaptureRequest,
};
use caudal_sys::interface::route_from;
use serde::Serialize;
use std::net::IpAddr;

/// The loopback device.
const LOOPBACK: &str = "lo";

/// What watches a test at this end. Dropped, it ends the capture and restores the offloads.
#[derive(Debug, Default)]
pub(crate) struct TestObservation {
    capture: Option<TestCapture>,
    offload: Option<OffloadGuard>,
}

impl TestObservation {
    /// Sets the offloads, before anything is connected to.
    pub(crate) fn prepare(args: &CaptureArgs, target: &TargetArgs) -> Result<Self, Failure> {
        let Some(switch) = args.offload else {
            return Ok(Self::default());
        };
        let interface = match &target.host {
            None => LOOPBACK.to_owned(),
            Some(host) => {
                let addresses = target.target().resolve()?;
                let mut routed = addresses
                    .iter()
                    .filter_map(|address| interface_to(target, address.ip()));
                routed.next().ok_or_else(|| {
                    Failure::new(
                        Exit::Peer,
                        format!("--offload: there is no route to {host}"),
                        "check its address and this machine's routes",
                    )
                })?
            }
        };
        Ok(Self {
            capture: None,
            offload: Some(set_offloads(&interface, switch)?),
        })
    }

    /// Begins to capture, once the peer is known.
    pub(crate) fn begin(
        &mut self,
        args: &CaptureArgs,
        target: &TargetArgs,
        peer: &CommandPeer,
        (started, plan): (&StartedRun, &impl Serialize),
    ) -> Result<(), Failure> {
        if args.capture.is_none() && args.offload.is_none() {
            return Ok(());
        }
        let server = peer.info().address;
        let interface = interface_to(target, server.ip()).ok_or_else(|| {
            Failure::new(
                Exit::Peer,
                format!("--capture or --offload: there is no route to {server}"),
                "check this machine's routes",
            )
        })?;
        if let Some(switch) = args.offload {
            self.move_offloads(&interface, switch)?;
        }
        let Some(path) = &args.capture else {
            return Ok(());
        };
        let plan = serde_json::to_string(plan).unwrap_or_default();
        let command = started.header.command.iter();
        let comment: Vec<String> = command
            .map(ToString::to_string)
            .chain([format!("run {}", started.header.id), plan])
            .collect();
        let capture = TestCapture::start(TestCaptureRequest {
            path: path.clone(),
            interface,
            server: Some(server),
            snap_bytes: args.snap_length,
            comment: comment.join("\n"),
        });
        self.capture = Some(capture.map_err(|error| capture_failure(&error))?);
        Ok(())
    }

    /// Sets the offloads of another interface where the peer answered at another of its addresses than the first.
    fn move_offloads(&mut self, interface: &str, switch: OffloadSwitch) -> Result<(), Failure> {
        let is_there = self
            .offload
            .as_ref()
            .is_some_and(|guard| guard.outcome().interface.as_received() == interface);
        if !is_there {
            self.offload = None;
            self.offload = Some(set_offloads(interface, switch)?);
        }
        Ok(())
    }

    /// Ends the capture, restores the offloads and adds both to the run; `exit`, or that of a failure when the capture ended early.
    pub(crate) fn end(mut self, run: &mut Run, exit: Exit) -> Exit {
        let captured = self.capture.take().map(TestCapture::finish);
        run.offload = self
            .offload
            .take()
            .map(|guard| Box::new(guard.outcome().clone()));
        let Some(captured) = captured else {
            return exit;
        };
        let is_cut_short = captured.cut_short.is_some();
        run.capture = Some(Box::new(document(captured)));
        match exit {
            Exit::Done if is_cut_short => Exit::Failed,
            exit => exit,
        }
    }
}

/// The capture as documents have it, with what it shows.
fn document(captured: CapturedTraffic) -> RunCapture {
    let (flows, findings) = findings(&captured.path, captured.dropped == 0).unzip();
    RunCapture {
        file: captured.path.display().to_string().into(),
        interface: captured.interface.into(),
        snap_bytes: captured.snap_bytes,
        frames: captured.frames,
        dropped_frames: captured.dropped,
        bytes: captured.bytes,
        flows,
        cut_short: captured.cut_short,
        findings: findings.unwrap_or_default(),
    }
}

/// The interface by which packets to an address leave.
fn interface_to(target: &TargetArgs, address: IpAddr) -> Option<String> {
    let device = target.device.clone();
    device.or_else(|| route_from(target.bind, address).map(|route| route.interface))
}

fn set_offloads(interface: &str, switch: OffloadSwitch) -> Result<OffloadGuard, Failure> {
    OffloadGuard::set(interface, switch == OffloadSwitch::On)
        .map_err(|error| offload_failure(&error))
}

pub(super) fn offload_failure(error: &OffloadError) -> Failure {
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
    Failure::new(exit, format!("--offload: {error}"), advice)
}

pub(super) fn capture_failure(error: &TestCaptureError) -> Failure {
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
    Failure::new(exit, format!("--capture: {error}"), advice)
}
