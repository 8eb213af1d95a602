//! A process of ours, and what it says.

use std::io::{BufRead, Read};
use std::process::Child;
use std::thread::JoinHandle;

use crate::exit::{Exit, Failure};

/// A process of ours, killed when dropped.
pub(super) struct Process {
    pub(super) child: Child,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    pub(super) const fn of(child: Child) -> Self {
        Self {
            child,
            readers: Vec::new(),
        }
    }

    /// Reads on until it ends: what it says from now on is for nobody, but has to go somewhere.
    pub(super) fn drain(&mut self, mut lines: impl BufRead + Send + 'static) {
        self.readers.push(std::thread::spawn(move || {
            let _ = std::io::copy(&mut lines, &mut std::io::sink());
        }));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

pub(super) fn cannot_start(what: &str, host: &str, cause: &std::io::Error) -> Failure {
    Failure::new(
        Exit::NotPermitted,
        format!("cannot start {what} on {host}: {cause}"),
        "",
    )
}

/// All that a pipe holds until it is closed.
pub(super) fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What came until a pipe broke is what there is.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
