//! A receiver's sink whose runs are all handed to its thread.

use super::run_sink::RunSink;
use super::sink_worker::{SinkSignals, SinkTask, SinkWorker};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// A receiver's sink whose runs are all handed to its thread, in order.
pub(super) struct WorkerSink {
    worker: SinkWorker,
    bytes: u64,
    /// What the thread tells of storing; `None` where it stores nothing.
    storing: Option<SinkSignals>,
}

impl WorkerSink {
    /// A sink that keeps nothing but the digest.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn discarding(signals: &SinkSignals) -> io::Result<Self> {
        let task = DiscardTask {
            hasher: blake3::Hasher::new(),
            signals: signals.clone(),
        };
        Ok(Self {
            worker: SinkWorker::spawn(task, signals)?,
            bytes: 0,
            storing: None,
        })
    }

    /// A sink whose thread stores what this task makes of the runs.
    ///
    /// # Errors
    /// When the kernel gives no thread.
    pub(super) fn storing(task: impl SinkTask, signals: &SinkSignals) -> io::Result<Self> {
        Ok(Self {
            worker: SinkWorker::spawn(task, signals)?,
            bytes: 0,
            storing: Some(signals.clone()),
        })
    }

    /// A value that storing sets; `None` while it is 0.
    fn told(&self, value: fn(&SinkSignals) -> &AtomicU64) -> Option<u64> {
        let told = value(self.storing.as_ref()?).load(Ordering::Relaxed);
        (told > 0).then_some(told)
    }
}

impl RunSink for WorkerSink {
    fn write(&mut self, run: &[u8]) -> Result<(), String> {
        self.bytes += run.len() as u64;
        self.worker.take(run)
    }

    fn take(&mut self, run: Vec<u8>) -> Result<Option<Vec<u8>>, String> {
        let offset = self.bytes;
        self.bytes += run.len() as u64;
        self.worker.store(run, offset)
    }

    fn flush(&mut self) -> Result<(), String> {
        match self.storing {
            Some(_) => self.worker.flush(),
            None => Ok(()),
        }
    }

    fn begin_verification(&mut self, claimed: [u8; 32]) {
        self.worker.verify(claimed, self.bytes);
    }

    fn verification(&mut self) -> Option<Result<bool, String>> {
        self.worker.outcome()
    }

    fn written_ns(&self) -> Option<u64> {
        self.told(|signals| &signals.written_ns)
    }

    fn store_cpu_ns(&self) -> u64 {
        self.told(|signals| &signals.store_cpu_ns).unwrap_or(0)
    }

    fn synced_ns(&self) -> Option<u64> {
        self.told(|signals| &signals.synced_ns)
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
