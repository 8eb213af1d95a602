//! A bounded ring of runs that a thread reads ahead of a sender.

use caudal_rbt::BlockSource;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

/// The size of a content whose end was not seen.
const UNKNOWN: u64 = u64::MAX;

/// Bytes at an offset.
struct FilledRun {
    offset: u64,
    bytes: Vec<u8>,
    /// Of these, the bytes that were read.
    filled: usize,
}

/// What both ends of a ring see.
#[derive(Debug)]
struct RingState {
    available: AtomicU64,
    total: AtomicU64,
    digest: OnceLock<[u8; 32]>,
    failure: OnceLock<String>,
    is_dropped: AtomicBool,
}

/// The end of a ring that a sender takes runs from.
pub(super) struct RunRing {
    state: Arc<RingState>,
    filled: Receiver<FilledRun>,
    empty: Sender<Vec<u8>>,
    held: VecDeque<FilledRun>,
}

/// The end of a ring that the reading thread fills.
pub(super) struct RunFiller {
    state: Arc<RingState>,
    filled: Sender<FilledRun>,
    empty: Receiver<Vec<u8>>,
    offset: u64,
}

/// A ring of `runs` runs of up to `run_bytes` bytes each, for a content of `total` bytes that is read from `offset` on.
pub(super) fn run_ring(
    runs: usize,
    run_bytes: usize,
    offset: u64,
    total: Option<u64>,
) -> (RunRing, RunFiller) {
    let state = Arc::new(RingState {
        available: AtomicU64::new(offset),
        total: AtomicU64::new(total.unwrap_or(UNKNOWN)),
        digest: OnceLock::new(),
        failure: OnceLock::new(),
        is_dropped: AtomicBool::new(false),
    });
    let (filled_by, filled) = channel();
    let (empty, empty_of) = channel();
    for _ in 0..runs {
        // The other end is in scope.
        let _ = empty.send(vec![0; run_bytes]);
    }
    let ring = RunRing {
        state: Arc::clone(&state),
        filled,
        empty,
        held: VecDeque::with_capacity(runs),
    };
    let filler = RunFiller {
        state,
        filled: filled_by,
        empty: empty_of,
        offset,
    };
    (ring, filler)
}

impl RunRing {
    /// The digest, once the end was read.
    pub(super) fn digest(&self) -> Option<[u8; 32]> {
        self.state.digest.get().copied()
    }

    /// Why reading failed.
    pub(super) fn failure(&self) -> Option<String> {
        self.state.failure.get().cloned()
    }

    /// Takes the runs that were filled.
    fn take_filled(&mut self) {
        while let Ok(run) = self.filled.try_recv() {
            self.held.push_back(run);
        }
    }
}

impl BlockSource for RunRing {
    fn available(&self) -> u64 {
        self.state.available.load(Ordering::Acquire)
    }

    fn total(&self) -> Option<u64> {
        let total = self.state.total.load(Ordering::Acquire);
        (total != UNKNOWN).then_some(total)
    }

    /// Zeros where nothing was read: the sender finds the reason in [`RunRing::failure`].
    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let end = offset + out.len() as u64;
        let held_to = |held: &VecDeque<FilledRun>| {
            held.back().map_or(0, |run| run.offset + run.filled as u64)
        };
        if held_to(&self.held) < end {
            self.take_filled();
        }
        let first = self
            .held
            .partition_point(|run| run.offset + run.filled as u64 <= offset);
        let (mut offset, mut out) = (offset, out);
        for run in self.held.iter().skip(first) {
            if out.is_empty() || run.offset > offset {
                break;
            }
            let at = (offset - run.offset) as usize;
            let count = (run.filled - at).min(out.len());
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(&run.bytes[at..at + count]);
            offset += count as u64;
            out = later;
        }
        out.fill(0);
    }

    fn release(&mut self, below: u64) {
        while let Some(run) = self.held.front()
            && run.offset + run.filled as u64 <= below
            && let Some(run) = self.held.pop_front()
        {
            // Without a reader nothing more is to be read.
            let _ = self.empty.send(run.bytes);
        }
    }
}

impl Drop for RunRing {
    fn drop(&mut self) {
        self.state.is_dropped.store(true, Ordering::Relaxed);
    }
}

impl RunFiller {
    /// An empty run, as soon as there is one; `None` when nobody takes runs any more.
    pub(super) fn empty_run(&self) -> Option<Vec<u8>> {
        self.empty.recv().ok().filter(|_| !self.is_dropped())
    }

    /// `true` when nobody takes runs any more.
    pub(super) fn is_dropped(&self) -> bool {
        self.state.is_dropped.load(Ordering::Relaxed)
    }

    /// Hands over a run of which `filled` bytes were read.
    pub(super) fn push(&mut self, bytes: Vec<u8>, filled: usize) {
        let run = FilledRun {
            offset: self.offset,
            bytes,
            filled,
        };
        self.offset += filled as u64;
        // Nobody misses what nobody takes.
        let _ = self.filled.send(run);
        self.state.available.store(self.offset, Ordering::Release);
    }

    /// The digest of the whole content, before its last run is handed over where its size is known.
    pub(super) fn set_digest(&self, digest: [u8; 32]) {
        let _ = self.state.digest.set(digest);
    }

    /// The end was reached, with the digest of the whole content.
    pub(super) fn end(&self, digest: [u8; 32]) {
        self.set_digest(digest);
        self.state.total.store(self.offset, Ordering::Release);
    }

    /// Nothing more can be read: what is missing reads as zeros.
    pub(super) fn fail(&self, reason: String) {
        let _ = self.state.failure.set(reason);
        let total = self.state.total.load(Ordering::Acquire);
        if total != UNKNOWN {
            self.state.available.store(total, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_kept_until_they_are_released_and_used_again() {
        let (mut ring, mut filler) = run_ring(2, 4, 10, None);
        for first in [1, 5] {
            let mut run = filler.empty_run().unwrap();
            run.copy_from_slice(&[first, first + 1, first + 2, first + 3]);
            filler.push(run, 4);
        }
        assert_eq!((ring.available(), ring.total()), (18, None));
        let mut out = [0; 6];
        ring.read(11, &mut out);
        assert_eq!(out, [2, 3, 4, 5, 6, 7]);
        ring.read(10, &mut out[..2]);
        assert_eq!(out[..2], [1, 2], "a retransmission");
        ring.release(15);
        let run = filler.empty_run().unwrap();
        filler.push(run, 1);
        filler.end([7; 32]);
        assert_eq!((ring.total(), ring.digest()), (Some(19), Some([7; 32])));
    }

    #[test]
    fn what_could_not_be_read_is_zeros_with_a_reason() {
        let (mut ring, filler) = run_ring(1, 4, 0, Some(100));
        filler.fail("it shrank".to_owned());
        let mut out = [9; 100];
        assert_eq!(ring.available(), 100);
        ring.read(0, &mut out);
        assert_eq!(out, [0; 100]);
        assert_eq!(ring.failure().unwrap(), "it shrank");
        drop(ring);
        assert!(filler.is_dropped());
    }
}
