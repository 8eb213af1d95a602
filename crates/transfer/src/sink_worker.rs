//! The thread behind a sink: it stores runs, computes digests, and completes files.

use caudal_core::transfer::RefusedFiles;
use caudal_sys::clock::{CpuClock, monotonic_ns};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum runs that wait for the thread.
const RUNS: usize = 4;

/// What the thread behind a sink shares with the session.
#[derive(Debug, Clone, Default)]
pub struct SinkSignals {
    /// Set to end a verification early.
    pub stop: Arc<AtomicBool>,
    /// The bytes of which a digest was computed: a number that grows as long as work is done.
    pub digested: Arc<AtomicU64>,
    /// The time at which every run was stored, ns of the monotonic clock; 0 before.
    pub(crate) written_ns: Arc<AtomicU64>,
    /// The CPU time that storing has taken on the thread, ns.
    pub(crate) store_cpu_ns: Arc<AtomicU64>,
    /// The time at which the content was on the disk, ns of the monotonic clock; 0 before.
    pub(crate) synced_ns: Arc<AtomicU64>,
    /// The files of an archive that were not stored.
    pub(crate) refused: Arc<Mutex<RefusedFiles>>,
}

impl SinkSignals {
    /// Takes note of bytes of which the digest was computed; `false` when the work is to end.
    pub(super) fn advance(&self, bytes: u64) -> bool {
        self.digested.fetch_add(bytes, Ordering::Relaxed);
        !self.stop.load(Ordering::Relaxed)
    }

    /// The files of an archive that were not stored; `None` where there are none.
    #[must_use]
    pub fn refused(&self) -> Option<RefusedFiles> {
        let refused = self.refused.lock();
        let refused = refused.unwrap_or_else(PoisonError::into_inner);
        (refused.count > 0).then(|| refused.clone())
    }
}

/// What the thread does.
pub(super) trait SinkTask: Send + 'static {
    /// Stores a run, which lies at `offset` in the content, where the content is stored.
    fn write(&mut self, _run: &[u8], _offset: u64) -> Result<(), String> {
        Ok(())
    }

    /// Takes a run that was stored.
    fn take(&mut self, run: &[u8]) -> Result<(), String>;

    /// Compares the digest of all `bytes` with the sender's, and completes the file.
    fn verify(&mut self, claimed: [u8; 32], bytes: u64) -> Result<bool, String>;
}

enum SinkWork {
    /// A run that was stored.
    Run(Vec<u8>),
    /// A run that is to be stored, and where.
    Store(Vec<u8>, u64),
    /// What came before is to be done: an answer is waited for.
    Flush(Sender<()>),
    Verify {
        claimed: [u8; 32],
        bytes: u64,
    },
}

/// The thread behind a sink; it has ended when this is dropped.
pub(super) struct SinkWorker {
    work: Option<SyncSender<SinkWork>>,
    used: Receiver<Vec<u8>>,
    outcome: Receiver<Result<bool, String>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SinkWorker {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the kernel gives none.
    pub(super) fn spawn(mut task: impl SinkTask, signals: &SinkSignals) -> io::Result<Self> {
        let (work, to_do) = sync_channel(RUNS);
        let (give_back, used) = channel();
        let (report, outcome) = channel();
        let written_ns = Arc::clone(&signals.written_ns);
        let store_cpu_ns = Arc::clone(&signals.store_cpu_ns);
        let thread = thread::Builder::new()
            .name("digest".to_owned())
            .spawn(move || {
                let cpu = CpuClock::of_this_thread();
                for work in to_do {
                    let (result, buffer) = match work {
                        SinkWork::Run(run) => (task.take(&run).map(|()| None), Some(run)),
                        SinkWork::Store(run, offset) => {
                            let before = cpu.read();
                            let stored = task.write(&run, offset);
                            store_cpu_ns.fetch_add(cpu_ns_since(cpu, before), Ordering::Relaxed);
                            let taken = stored.and_then(|()| task.take(&run));
                            (taken.map(|()| None), Some(run))
                        }
                        SinkWork::Flush(done) => {
                            // Whoever waited may be gone.
                            let _ = done.send(());
                            (Ok(None), None)
                        }
                        SinkWork::Verify { claimed, bytes } => {
                            written_ns.store(monotonic_ns(), Ordering::Relaxed);
                            (task.verify(claimed, bytes).map(Some), None)
                        }
                    };
                    if let Some(buffer) = buffer {
                        // A sink that has no more to write needs no buffer.
                        let _ = give_back.send(buffer);
                    }
                    if let Some(outcome) = result.transpose() {
                        let _ = report.send(outcome);
                        return;
                    }
                }
            })?;
        Ok(Self {
            work: Some(work),
            used,
            outcome,
            stop: Arc::clone(&signals.stop),
            thread: Some(thread),
        })
    }

    /// Hands over a copy of a run.
    ///
    /// # Errors
    /// Why the thread has failed.
    pub(super) fn take(&mut self, run: &[u8]) -> Result<(), String> {
        // No more than the runs that wait and the one at work are in use at a time.
        let mut buffer = self.used.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(run);
        self.send(SinkWork::Run(buffer))
    }

    /// Hands over a run that is to be stored at `offset`: an earlier one that is not needed any more.
    ///
    /// # Errors
    /// Why the thread has failed.
    pub(super) fn store(&mut self, run: Vec<u8>, offset: u64) -> Result<Option<Vec<u8>>, String> {
        self.send(SinkWork::Store(run, offset))?;
        Ok(self.used.try_recv().ok())
    }

    /// Waits until everything that was handed over is done.
    ///
    /// # Errors
    /// Why the thread has failed.
    pub(super) fn flush(&mut self) -> Result<(), String> {
        let (done, wait) = channel();
        self.send(SinkWork::Flush(done))?;
        wait.recv().or_else(|_| self.failed())
    }

    /// Has the digest of all `bytes` compared.
    pub(super) fn verify(&mut self, claimed: [u8; 32], bytes: u64) {
        if let Some(work) = &self.work {
            // A thread that has failed has given its reason as the outcome.
            let _ = work.send(SinkWork::Verify { claimed, bytes });
        }
    }

    /// The outcome of the comparison; `None` while it is computed.
    pub(super) fn outcome(&mut self) -> Option<Result<bool, String>> {
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("the digest was not computed".to_owned())),
        }
    }

    fn send(&mut self, work: SinkWork) -> Result<(), String> {
        let sent = self.work.as_ref().map(|sender| sender.send(work));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => self.failed(),
        }
    }

    /// The reason why the thread has ended.
    fn failed(&self) -> Result<(), String> {
        match self.outcome.recv() {
            Ok(Err(reason)) => Err(reason),
            _ => Err("the digest was not computed".to_owned()),
        }
    }
}

impl Drop for SinkWorker {
    fn drop(&mut self) {
        self.work = None;
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The CPU time of the thread since `before`, ns; 0 where the kernel does not report it.
pub(super) fn cpu_ns_since(cpu: CpuClock, before: Option<Duration>) -> u64 {
    cpu.read().zip(before).map_or(0, |(after, before)| {
        after.saturating_sub(before).as_nanos() as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Has room for some bytes.
    struct Disk {
        room: usize,
        stored: Vec<u8>,
    }

    impl SinkTask for Disk {
        fn write(&mut self, run: &[u8], offset: u64) -> Result<(), String> {
            assert_eq!(offset, self.stored.len() as u64);
            if self.stored.len() + run.len() > self.room {
                return Err("there is no space left".to_owned());
            }
            Ok(())
        }

        fn take(&mut self, run: &[u8]) -> Result<(), String> {
            self.stored.extend_from_slice(run);
            Ok(())
        }

        fn verify(&mut self, claimed: [u8; 32], bytes: u64) -> Result<bool, String> {
            assert_eq!(bytes, self.stored.len() as u64);
            Ok(blake3::hash(&self.stored) == claimed)
        }
    }

    fn worker(room: usize) -> SinkWorker {
        let stored = Vec::new();
        SinkWorker::spawn(Disk { room, stored }, &SinkSignals::default()).unwrap()
    }

    fn outcome(worker: &mut SinkWorker) -> Result<bool, String> {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if let Some(outcome) = worker.outcome() {
                return outcome;
            }
            thread::yield_now();
        }
        panic!("no outcome");
    }

    #[test]
    fn runs_to_be_stored_and_runs_that_were_come_in_any_order() {
        let mut worker = worker(usize::MAX);
        let mut content = Vec::new();
        for round in 0..200_u8 {
            let run = vec![round; 100 + usize::from(round % 3)];
            if round % 20 < 10 {
                worker.take(&run).unwrap();
            } else {
                worker.store(run.clone(), content.len() as u64).unwrap();
            }
            content.extend(run);
        }
        worker.verify(*blake3::hash(&content).as_bytes(), content.len() as u64);
        assert_eq!(outcome(&mut worker), Ok(true));
    }

    #[test]
    fn what_could_not_be_stored_at_last_is_the_outcome() {
        let mut worker = worker(150);
        for offset in [0, 100] {
            let _ = worker.store(vec![1; 100], offset);
        }
        worker.verify([0; 32], 200);
        assert_eq!(
            outcome(&mut worker),
            Err("there is no space left".to_owned())
        );
    }
}
