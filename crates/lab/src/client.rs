//! The client's side of a lab's control socket.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::control::{ControlReply, ControlRequest};

/// The time within which a lab must reply.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest reply in bytes.
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
