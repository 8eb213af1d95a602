//! A receiver's sink that keeps nothing but the digest.

use super::run_sink::RunSink;
use super::sink_worker::{SinkSignals, SinkTask, SinkWorker};
use std::io;

/// A receiver's sink that keeps nothing but the digest.
pub(super) struct DiscardSink {
    worker: SinkWorker,
    bytes: u64,
}

impl DiscardSink {
    /// Starts its thread.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub(super) fn start(signals: &SinkSignals) -> io::Result<Self> {
        let task = DiscardTask {
            hasher: blake3::Hasher::new(),
            signals: signals.clone(),
        };
        Ok(Self {
            worker: SinkWorker::spawn(task, signals)?,
            bytes: 0,
        })
    }
}

impl RunSink for DiscardSink {
    fn write(&mut self, run: &[u8]) -> Result<(), String> {
        self.bytes += run.len() as u64;
        self.worker.take(run)
    }

    fn take(&mut self, run: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
        let offset = self.bytes;
        self.bytes += run.len() as u64;
        self.worker.store(run, offset)
    }

    fn begin_verification(&mut self, claimed: [u8; 32]) {
        self.worker.verify(claimed, self.bytes);
    }

    fn verification(&mut self) -> Option<Result<bool, String>> {
        self.worker.outcome()
    }
}

struct DiscardTask {
    hasher: blake3::Hasher,
    signals: SinkSignals,
}

impl SinkTask for DiscardTask {
    fn take(&mut self, run: &[u8]) -> Result<(), String> {
        self.hasher.update(run);
        self.signals.advance(run.len() as u64);
        Ok(())
    }

    fn verify(&mut self, claimed: [u8; 32], _bytes: u64) -> Result<bool, String> {
        Ok(self.hasher.finalize() == claimed)
    }
}
