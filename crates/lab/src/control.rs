//! The protocol of a lab's control socket: a line of JSON each way.

use caudal_link::lab_report::LabReport;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A request to a lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlRequest {
    /// Report all counters.
    Report,
    /// Start a new measurement of the emulator's lateness.
    Mark,
    /// Change a link.
    Set(LinkChange),
    /// Take the lab down.
    Down,
}

/// A change of a link while frames flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkChange {
    /// The name of the link.
    pub link: String,
    /// The direction: from the first end (0), from the second (1), or both.
    pub end: Option<usize>,
    /// The new rate in bits per second.
    pub rate_bps: Option<u64>,
    /// The new delay in nanoseconds.
    pub delay_ns: Option<u64>,
    /// The new probability of independent loss.
    pub loss: Option<f64>,
    /// Segmentation by the interfaces at both ends, whatever the direction.
    #[serde(default)]
    pub segmentation: Option<bool>,
}

/// The reply of a lab.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ControlReply {
    /// All counters.
    Report(Box<LabReport>),
    /// The request was carried out.
    Done,
    /// The request was not carried out.
    Refused {
        /// The reason and a remedy.
        reason: String,
        /// `true` when the request is wrong, rather than the machine.
        is_usage: bool,
    },
}

/// Maximum wait for the reply of a lab.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of a reply, bytes.
const MAX_REPLY_BYTES: u64 = 256 << 20;

/// Sends `request` to the control socket at `path` and waits for the reply.
pub(crate) fn exchange(path: &Path, request: &ControlRequest) -> io::Result<ControlReply> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
    stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
    let text = serde_json::to_string(request)?;
    stream.write_all(format!("{text}\n").as_bytes())?;
    let mut line = String::new();
    BufReader::new((&stream).take(MAX_REPLY_BYTES)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
