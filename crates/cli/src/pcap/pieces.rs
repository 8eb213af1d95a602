//! Captures read piece by piece.

use super::decompressed::Decompressed;
use super::source::{CaptureSource, OpenSource};
use crate::exit::{Exit, Failure};
use caudal_capture::CaptureError;
use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;
use std::io::{self, BufReader, ErrorKind, Read};

/// The bytes of a piece: enough that calls do not count, few enough for the processor's caches.
const PIECE_BYTES: usize = 1 << 18;

/// How the reading of a source ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum ReadingEnd {
    /// At its end.
    Complete,
    /// By ^C or SIGTERM.
    Interrupted,
    /// Where what was compressed cannot be decompressed any further, for this reason.
    Damaged(&'static str),
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
        let interrupt = self.interrupt;
        let open = source.open()?;
        let source_read = Interruptible { open, interrupt };
        let buffered = BufReader::with_capacity(PIECE_BYTES, source_read);
        let failed = |cause: &io::Error| match interrupt.count() {
            0 => Err(source.unreadable(cause)),
            _ => Ok(ReadingEnd::Interrupted),
        };
        let mut bytes = match Decompressed::new(buffered) {
            Ok(bytes) => bytes,
            Err(cause) => return failed(&cause),
        };
        let mut total = 0_u64;
        loop {
            match bytes.read(&mut self.piece) {
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
                // An error of read(2) has a number; those of decompression have none.
                Err(cause) => match bytes.damage().filter(|_| cause.raw_os_error().is_none()) {
                    Some(damage) if interrupt.count() == 0 => {
                        return Ok(ReadingEnd::Damaged(damage));
                    }
                    _ => return failed(&cause),
                },
            }
        }
    }
}

/// A source whose reading an interrupt ends with an error.
struct Interruptible<'a> {
    open: OpenSource,
    interrupt: &'a Interrupt,
}

impl Read for Interruptible<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        // Reads are restarted after a signal, so that a pipe in which nothing comes would never notice one.
        let ready = poll_readable(&[self.open.fd(), self.interrupt.fd()], None);
        if self.interrupt.count() > 0 {
            return Err(io::Error::other("interrupted"));
        }
        ready?;
        self.open.read(piece)
    }
}
