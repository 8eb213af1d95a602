//! Processes that a trial starts, and their output.

use std::io::{BufRead, Read};
use std::process::Child;
use std::thread::JoinHandle;

/// A process that is killed when dropped.
pub(super) struct ChildProcess {
    pub(super) child: Child,
    readers: Vec<JoinHandle<()>>,
}

impl ChildProcess {
    pub(super) const fn new(child: Child) -> Self {
        Self {
            child,
            readers: Vec::new(),
        }
    }

    /// Reads and drops the rest of its output, so that it does not wait for a reader.
    pub(super) fn drain(&mut self, mut lines: impl BufRead + Send + 'static) {
        self.readers.push(std::thread::spawn(move || {
            let _ = std::io::copy(&mut lines, &mut std::io::sink());
        }));
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// Reads a pipe until it is closed.
pub(super) fn read_all(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // The output until an error is all there is.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
