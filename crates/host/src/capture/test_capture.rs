//! The capture of a test, which goes on beside it.

use super::error::TestCaptureError;
use super::recorder::{CaptureRecorder, link_type};
use super::request::{FilterText, TestCaptureRequest};
use crate::identity::TOOL;
use caudal_capture::InterfaceDescription;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use caudal_sys::clock::realtime_ns;
use caudal_sys::interface::Interface;
use caudal_sys::packet::{CaptureCounters, CaptureRequest, FrameCapture, ObservedFrame};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Ring for short frames: a second of 1 Gbit/s in frames of 1514 bytes, 128 of each kept, takes 20 MB.
const RING: usize = 32 << 20;
/// Ring for long frames.
const LARGE_RING: usize = 128 << 20;
/// Minimum length of a long frame, bytes.
const LONG: u32 = 512;
/// Interval at which a capture without frames checks its stop signal.
const PATIENCE: Duration = Duration::from_millis(50);

/// A capture that goes on until it is finished or dropped.
#[derive(Debug)]
pub struct TestCapture {
    request: TestCaptureRequest,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<CapturedTraffic>>,
}

/// What a capture came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedTraffic {
    /// The file.
    pub path: PathBuf,
    /// The interface.
    pub interface: String,
    /// The bytes of a frame that were kept at most.
    pub snap_bytes: u32,
    /// The frames in the file.
    pub frames: u64,
    /// The frames that the kernel dropped, as there was no room for them.
    pub dropped: u64,
    /// The bytes the frames in the file had.
    pub bytes: ByteCount,
    /// Why it ended early.
    pub cut_short: Option<ExternalText>,
}

impl TestCapture {
    /// Begins to capture.
    ///
    /// # Errors
    /// When this user may not, the interface cannot be captured, or the file cannot be written.
    pub fn start(request: TestCaptureRequest) -> Result<Self, TestCaptureError> {
        let failed = |cause: io::Error| match cause.kind() {
            io::ErrorKind::PermissionDenied => TestCaptureError::NotPermitted,
            io::ErrorKind::Unsupported => TestCaptureError::UnknownLink(request.interface.clone()),
            _ => TestCaptureError::Capture {
                interface: request.interface.clone(),
                cause,
            },
        };
        let interface = Interface::by_name(&request.interface)
            .ok_or_else(|| TestCaptureError::NoInterface(request.interface.clone()))?;
        let capture = FrameCapture::open(&CaptureRequest {
            index: interface.index,
            is_loopback: interface.is_loopback,
            snap_bytes: request.snap_bytes,
            ring_bytes: if request.snap_bytes > LONG {
                LARGE_RING
            } else {
                RING
            },
            filter: request.filter(),
        })
        .map_err(failed)?;
        let recorder = open(&request, &capture)?;
        let stop = Arc::new(AtomicBool::new(false));
        let mut session = CaptureSession {
            capture,
            recorder,
            stop: stop.clone(),
        };
        let outcome = request.clone();
        let thread = Builder::new()
            .name("capture".to_owned())
            .spawn(move || session.run(&outcome))
            .map_err(failed)?;
        Ok(Self {
            request,
            stop,
            thread: Some(thread),
        })
    }

    /// The interface that is captured.
    #[must_use]
    pub fn interface(&self) -> &str {
        &self.request.interface
    }

    /// Ends it once the frames seen so far are in the file.
    #[must_use]
    pub fn finish(mut self) -> CapturedTraffic {
        self.stop.store(true, Relaxed);
        let joined = self.thread.take().map(JoinHandle::join);
        match joined {
            Some(Ok(traffic)) => traffic,
            _ => CapturedTraffic {
                cut_short: Some("its thread failed".into()),
                ..CapturedTraffic::of(&self.request)
            },
        }
    }
}

impl Drop for TestCapture {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl CapturedTraffic {
    fn of(request: &TestCaptureRequest) -> Self {
        Self {
            path: request.path.clone(),
            interface: request.interface.clone(),
            snap_bytes: request.snap_bytes,
            frames: 0,
            dropped: 0,
            bytes: ByteCount::new(0),
            cut_short: None,
        }
    }
}

/// Creates the file with its headers.
fn open(
    request: &TestCaptureRequest,
    capture: &FrameCapture,
) -> Result<CaptureRecorder, TestCaptureError> {
    let unwritable = |cause| TestCaptureError::File {
        path: request.path.clone(),
        cause,
    };
    let is_other = std::fs::metadata(&request.path).is_ok_and(|meta| !meta.is_file());
    if is_other {
        return Err(TestCaptureError::NotRegular(request.path.clone()));
    }
    let file = File::create(&request.path).map_err(unwritable)?;
    let description = InterfaceDescription {
        name: &request.interface,
        link_type: link_type(capture.first_header()),
        snap_bytes: request.snap_bytes,
        filter: &FilterText(request.server).to_string(),
    };
    CaptureRecorder::new(file, TOOL, &request.comment, &description).map_err(unwritable)
}

/// A capture in its thread.
struct CaptureSession {
    capture: FrameCapture,
    recorder: CaptureRecorder,
    stop: Arc<AtomicBool>,
}

impl CaptureSession {
    fn run(&mut self, request: &TestCaptureRequest) -> CapturedTraffic {
        let failure = self.carry_out().err();
        let counters = self.capture.counters();
        let failure = failure.or_else(|| counters.as_ref().err().map(copied));
        let counters: CaptureCounters = counters.unwrap_or_default();
        self.recorder.finish(realtime_ns(), counters);
        let cut_short = match (&self.recorder.failure, failure) {
            (Some(cause), _) => Some(format!(
                "{} cannot be written: {cause}",
                request.path.display()
            )),
            (None, Some(cause)) => {
                Some(format!("{} cannot be captured: {cause}", request.interface))
            }
            (None, None) => None,
        };
        CapturedTraffic {
            frames: self.recorder.frames,
            dropped: counters.dropped,
            bytes: ByteCount::new(self.recorder.bytes),
            cut_short: cut_short.map(ExternalText::from),
            ..CapturedTraffic::of(request)
        }
    }

    fn carry_out(&mut self) -> io::Result<()> {
        let Self {
            capture,
            recorder,
            stop,
        } = self;
        let mut each = |frame: &ObservedFrame<'_>| recorder.frame(frame);
        while !stop.load(Relaxed) {
            capture.receive(PATIENCE, &mut each)?;
        }
        capture.finish(realtime_ns(), &mut each)
    }
}

fn copied(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}
