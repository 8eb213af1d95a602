//! The progress of a round-trip test in a terminal: a bar that is rewritten.

use super::sink::Sink;
use caudal_core::event::SizeProgress;

/// Width of the bar in columns.
const BAR: u64 = 40;

/// The progress bar of a round-trip test.
#[derive(Debug)]
pub struct Progress {
    /// Sizes times clients.
    total: u64,
    complete: u64,
}

impl Progress {
    /// The bar of a test with this many sizes and clients.
    #[must_use]
    pub const fn new(sizes: usize, clients: u32) -> Self {
        Self {
            total: sizes as u64 * clients as u64,
            complete: 0,
        }
    }

    /// Shows that one more size is complete for one client.
    pub fn advance(&mut self, sink: &mut Sink, progress: &SizeProgress) {
        self.complete += 1;
        let full = (self.complete * BAR / self.total.max(1)).min(BAR) as usize;
        let bar = format!("{}{}", "#".repeat(full), ".".repeat(BAR as usize - full));
        let size = progress.size_bytes;
        sink.write_with_controls(&format!("\r\x1b[K\x1b[2m{size:>8}  [{bar}]\x1b[0m"));
    }

    /// Removes the bar.
    pub fn end(&self, sink: &mut Sink) {
        if self.complete > 0 {
            sink.write_with_controls("\r\x1b[K");
        }
    }
}
