//! The lines of a control connection.

use caudal_sys::clock::monotonic_ns;
use caudal_sys::poll::poll_readable;
use caudal_wire::nttcp::MAX_LINE_BYTES;
use std::io::{self, Read};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// An error of a control connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    /// Waiting was ended from here.
    #[error("stopped")]
    Stopped,
    /// Nothing was received in time, s.
    #[error("no line was received within {0} s")]
    Silent(u64),
    /// The connection ended within a line.
    #[error("the connection ended in the middle of a line")]
    Cut,
    /// The line is too long.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    TooLong,
    /// The line is not UTF-8.
    #[error("the line is no text")]
    NoText,
    /// Any other error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads one line; `None` when the connection ended without one, or was reset. Ends when one of `stop` is readable.
pub(super) fn read_line(
    mut control: &TcpStream,
    patience: Duration,
    stop: &[BorrowedFd<'_>],
) -> Result<Option<String>, LineError> {
    let until_ns = monotonic_ns() + patience.as_nanos() as u64;
    let mut fds = vec![control.as_fd()];
    fds.extend_from_slice(stop);
    let mut line = Vec::new();
    loop {
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        let ready = poll_readable(&fds, Some(left))?;
        if ready.iter().skip(1).any(|ready| *ready) {
            return Err(LineError::Stopped);
        }
        if !ready.contains(&true) {
            return Err(LineError::Silent(patience.as_secs()));
        }
        // Byte by byte: what follows the line is for the next reader.
        let mut byte = [0];
        match control.read(&mut byte) {
            Ok(0) if line.is_empty() => return Ok(None),
            Ok(0) => return Err(LineError::Cut),
            Ok(_) if byte[0] == b'\n' => {
                let text = String::from_utf8(line).map_err(|_| LineError::NoText)?;
                return Ok(Some(text));
            }
            Ok(_) if line.len() >= MAX_LINE_BYTES => return Err(LineError::TooLong),
            Ok(_) => line.push(byte[0]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) if line.is_empty() && cause.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(None);
            }
            Err(cause) => return Err(cause.into()),
        }
    }
}
