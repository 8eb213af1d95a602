//! Waking a thread that waits with poll: a pipe whose reading end is readable once it was written to.

use caudal_sys::poll::poll_readable;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The end that waits.
#[derive(Debug)]
pub struct Wakeup {
    reader: PipeReader,
    // Held so that the pipe does not become readable (closed) when the last other waker is dropped.
    waker: Waker,
}

/// The end that wakes.
#[derive(Debug)]
pub struct Waker(PipeWriter);

impl Wakeup {
    /// A wakeup that has not been triggered.
    ///
    /// # Errors
    /// When the kernel gives no pipe.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self {
            reader,
            waker: Waker(writer),
        })
    }

    /// Another end that wakes.
    ///
    /// # Errors
    /// When the kernel gives no descriptor.
    pub fn waker(&self) -> io::Result<Waker> {
        self.waker.0.try_clone().map(Waker)
    }

    /// Triggers it from the waiting end, for other threads that wait on the same descriptor.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// The descriptor to poll: readable once triggered.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Empties the pipe, so that it can be waited for again; `true` when it had been triggered.
    pub fn reset(&self) -> bool {
        let is_triggered = poll_readable(&[self.fd()], Some(Duration::ZERO))
            .is_ok_and(|ready| ready.contains(&true));
        if is_triggered {
            let mut bytes = [0; 1024];
            let _ = (&self.reader).read(&mut bytes);
        }
        is_triggered
    }
}

impl Waker {
    /// Wakes the waiting thread.
    pub fn wake(&self) {
        let _ = (&self.0).write_all(b".");
    }
}
