//! A bell that one thread rings and another can wait for together with its sockets.

use caudal_sys::poll::poll_readable;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The end that waits.
#[derive(Debug)]
pub struct Bell {
    reader: PipeReader,
    // Kept so that the bell is silent, not broken, when all who could ring it are gone.
    ringer: Ringer,
}

/// The end that rings.
#[derive(Debug)]
pub struct Ringer(PipeWriter);

impl Bell {
    /// A silent bell.
    ///
    /// # Errors
    /// When no pipe can be had.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self {
            reader,
            ringer: Ringer(writer),
        })
    }

    /// Another end that rings.
    ///
    /// # Errors
    /// When no descriptor can be had.
    pub fn ringer(&self) -> io::Result<Ringer> {
        self.ringer.0.try_clone().map(Ringer)
    }

    /// Rings it from the end that waits, for others that wait with it.
    pub fn ring(&self) {
        let _ = (&self.ringer.0).write_all(b".");
    }

    /// What to wait for: readable once rung.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Whether it has been rung since the last call, which makes it silent again.
    #[must_use]
    pub fn was_rung(&mut self) -> bool {
        let rung = poll_readable(&[self.reader.as_fd()], Some(Duration::ZERO))
            .is_ok_and(|ready| ready.contains(&true));
        if rung {
            let mut notices = [0; 1024];
            let _ = self.reader.read(&mut notices);
        }
        rung
    }
}

impl Ringer {
    /// Rings.
    pub fn ring(&mut self) {
        let _ = self.0.write_all(b".");
    }
}
