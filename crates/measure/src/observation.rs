//! The capture and the offloads of a measurement, from before it connects until its traffic has ended.

use crate::capture_findings::findings;
use crate::error::MeasureError;
use crate::measured::RunEnding;
use caudal_core::run::{Run, RunCapture};
use caudal_engine::{
    CapturedTraffic, LocalBinding, OffloadGuard, StartedRun, Target, TestCapture,
    TestCaptureRequest,
};
use caudal_sys::interface::{route_from, route_to_socket};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The loopback device.
const LOOPBACK: &str = "lo";

/// What is to be seen of a test beside its result, at this end.
#[derive(Debug, Clone, Default)]
pub struct ObservationRequest {
    /// The capture of its traffic; `None` for none.
    pub capture: Option<CaptureFileRequest>,
    /// The state of the interface's offloads meanwhile; `None` to leave them.
    pub offload: Option<OffloadRequest>,
}

/// A capture of a test's traffic.
#[derive(Debug, Clone)]
pub struct CaptureFileRequest {
    /// The file, which is replaced.
    pub path: PathBuf,
    /// The number of bytes of a frame that are kept.
    pub snap_bytes: u32,
}

/// The state that offloads are to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffloadRequest {
    /// On.
    On,
    /// Off: frames are captured as they cross the wire.
    Off,
}

/// What watches a test at this end. Dropped, it ends the capture and restores the offloads.
#[derive(Debug, Default)]
pub(crate) struct TestObservation {
    request: ObservationRequest,
    binding: LocalBinding,
    capture: Option<TestCapture>,
    offload: Option<OffloadGuard>,
}

impl TestObservation {
    /// Sets the offloads, before anything is connected to. Without a `target` the test stays on loopback.
    pub(crate) fn prepare(
        request: &ObservationRequest,
        target: Option<&Target>,
        binding: &LocalBinding,
    ) -> Result<Self, MeasureError> {
        let mut observation = Self {
            request: request.clone(),
            binding: binding.clone(),
            ..Self::default()
        };
        let Some(offload) = request.offload else {
            return Ok(observation);
        };
        let interface = match target {
            None => LOOPBACK.to_owned(),
            Some(target) => {
                let addresses = target.resolve()?;
                let mut routed = addresses
                    .iter()
                    .filter_map(|address| interface_to(binding, *address));
                let no_route = || MeasureError::NoRouteForOffloads(target.host.clone());
                routed.next().ok_or_else(no_route)?
            }
        };
        observation.offload = Some(set_offloads(&interface, offload)?);
        Ok(observation)
    }

    /// Begins to capture, once the peer is known.
    pub(crate) fn begin(
        &mut self,
        server: SocketAddr,
        started: &StartedRun,
        plan: &impl Serialize,
    ) -> Result<(), MeasureError> {
        if self.request.capture.is_none() && self.request.offload.is_none() {
            return Ok(());
        }
        let interface = interface_to(&self.binding, server)
            .ok_or_else(|| MeasureError::NoRouteToObserve(server.to_string()))?;
        if let Some(offload) = self.request.offload {
            self.move_offloads(&interface, offload)?;
        }
        let Some(capture) = &self.request.capture else {
            return Ok(());
        };
        let plan = serde_json::to_string(plan).unwrap_or_default();
        let command = started.header.command.iter();
        let comment: Vec<String> = command
            .map(ToString::to_string)
            .chain([format!("run {}", started.header.id), plan])
            .collect();
        self.capture = Some(TestCapture::start(TestCaptureRequest {
            path: capture.path.clone(),
            interface,
            server: Some(server),
            snap_bytes: capture.snap_bytes,
            comment: comment.join("\n"),
        })?);
        Ok(())
    }

    /// Sets the offloads of another interface where the peer answered at another of its addresses than the first.
    fn move_offloads(
        &mut self,
        interface: &str,
        offload: OffloadRequest,
    ) -> Result<(), MeasureError> {
        let is_there = self
            .offload
            .as_ref()
            .is_some_and(|guard| guard.outcome().interface.as_received() == interface);
        if !is_there {
            self.offload = None;
            self.offload = Some(set_offloads(interface, offload)?);
        }
        Ok(())
    }

    /// Ends the capture, restores the offloads and adds both to the run; `ending`, or that of a capture that ended early.
    pub(crate) fn end(&mut self, run: &mut Run, ending: RunEnding) -> RunEnding {
        let captured = self.capture.take().map(TestCapture::finish);
        run.offload = self
            .offload
            .take()
            .map(|guard| Box::new(guard.outcome().clone()));
        let Some(captured) = captured else {
            return ending;
        };
        let is_cut_short = captured.cut_short.is_some();
        run.capture = Some(Box::new(document(captured)));
        match ending {
            RunEnding::Complete if is_cut_short => RunEnding::CaptureCutShort,
            ending => ending,
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
fn interface_to(binding: &LocalBinding, address: SocketAddr) -> Option<String> {
    let route = || match binding.address {
        // A link-local address tells its interface.
        Some(local) if binding.scope_id == 0 => route_from(Some(local), address.ip()),
        _ => route_to_socket(address),
    };
    let device = binding.device.clone();
    device.or_else(|| route().map(|route| route.interface))
}

fn set_offloads(interface: &str, offload: OffloadRequest) -> Result<OffloadGuard, MeasureError> {
    Ok(OffloadGuard::set(interface, offload == OffloadRequest::On)?)
}
