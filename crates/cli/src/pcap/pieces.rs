//! Captures read piece by piece.

use super::source::CaptureSource;
use crate::exit::{Exit, Failure};
use caudal_capture::CaptureError;
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use std::io::ErrorKind;

/// The bytes of a piece: enough that calls do not count, few enough for the processor's caches.
const PIECE_BYTES: usize = 1 << 18;

/// How the reading of a source ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadingEnd {
    /// At its end.
    Complete,
    /// By ^C or SIGTERM.
    Interrupted,
}

/// What reads sources, through one buffer.
#[derive(Debug)]
pub(super) struct PieceReader<'a> {
    interrupt: &'a Interrupt,
    piece: Vec<u8>,
}

impl<'a> PieceReader<'a> {
    /// A reader that an interrupt ends.
    pub(super) fn new(interrupt: &'a Interrupt) -> Self {
        Self {
            interrupt,
            piece: vec![0; PIECE_BYTES],
        }
    }

    /// Hands the bytes of a source to `take`, piece by piece.
    ///
    /// # Errors
    /// When it cannot be read, is empty, or is no capture.
    pub(super) fn read(
        &mut self,
        source: &CaptureSource,
        mut take: impl FnMut(&[u8]) -> Result<(), CaptureError>,
    ) -> Result<ReadingEnd, Failure> {
        let mut open = source.open()?;
        let mut total = 0_u64;
        loop {
            // Reads are restarted after a signal, so that a pipe in which nothing comes would never notice one.
            let ready = poll_readable(&[open.fd(), self.interrupt.fd()], None);
            if self.interrupt.count() > 0 {
                return Ok(ReadingEnd::Interrupted);
            }
            ready.map_err(|cause| source.unreadable(&cause))?;
            match open.read(&mut self.piece) {
                Ok(0) if total == 0 => {
                    return Err(Failure::new(
                        Exit::Failed,
                        format!("{source} is empty: not even the header of a capture is in it"),
                        "",
                    ));
                }
                Ok(0) => return Ok(ReadingEnd::Complete),
                Ok(read) => {
                    total += read as u64;
                    take(&self.piece[..read]).map_err(|error| {
                        Failure::new(Exit::Failed, format!("{source}: {error}"), "")
                    })?;
                }
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(source.unreadable(&cause)),
            }
        }
    }
}
