//! The capture of an interface in a network of a study, beside its flows.

use super::args::OffloadSwitch;
use crate::exit::{Exit, Failure};
use caudal_engine::{OffloadGuard, TestCapture, TestCaptureRequest};
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

/// What a study captures, as it starts it itself.
#[derive(Debug, Clone, Args)]
pub struct OwnCaptureArgs {
    /// The interface.
    #[arg(long)]
    pub interface: String,
    /// The file; no capture without it.
    #[arg(long)]
    pub output: Option<PathBuf>,
    /// Its offloads meanwhile.
    #[arg(long, value_enum)]
    pub offload: Option<OffloadSwitch>,
}

/// Captures an interface, or sets its offloads, until it is interrupted. Standard output has a line of JSON when it has begun, and one at
/// its end.
///
/// # Errors
/// When the interface cannot be captured, or its offloads cannot be set.
pub fn own_capture(args: &OwnCaptureArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let guard = args
        .offload
        .map(|switch| OffloadGuard::set(&args.interface, switch == OffloadSwitch::On));
    let guard = guard.transpose()?;
    let capture = args.output.as_ref().map(|path| {
        TestCapture::start(TestCaptureRequest {
            path: path.clone(),
            interface: args.interface.clone(),
            server: None,
            snap_bytes: SNAP_BYTES,
            comment: String::new(),
        })
    });
    let capture = capture.transpose()?;
    let offload = guard.as_ref().map(OffloadGuard::outcome);
    let is_read = show(&json!({ "event": "capturing", "offload": offload }));
    while is_read && interrupt.count() == 0 {
        let waited = poll_readable(&[interrupt.fd()], None);
        waited.map_err(|cause| Failure::new(Exit::Failed, format!("cannot wait: {cause}"), ""))?;
    }
    let captured = capture.map(TestCapture::finish);
    drop(guard);
    if let Some(captured) = captured {
        let ended = json!({
            "event": "captured",
            "frames": captured.frames,
            "dropped": captured.dropped,
            "cut_short": captured.cut_short,
        });
        show(&ended);
    }
    Ok(Exit::Done)
}

/// Writes a line; `false` when nobody reads it.
fn show(line: &Value) -> bool {
    writeln!(std::io::stdout(), "{line}").is_ok()
}

/// The bytes of a frame that are kept.
const SNAP_BYTES: u32 = 128;
