//! A content and a receiver's storage in memory, for the tests of movers.

use super::content_source::ContentSource;
use super::run_sink::RunSink;
use caudal_rbt::BlockSource;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A content in memory.
pub(crate) struct MemorySource {
    pub(crate) content: Vec<u8>,
    /// What it says of the digest, where that is not the content's.
    pub(crate) claimed: Option<[u8; 32]>,
    /// The offset from which it cannot be read.
    pub(crate) broken_from: Option<u64>,
    read_to: u64,
}

impl MemorySource {
    /// A content of so many bytes that do not repeat soon.
    pub(crate) fn new(bytes: usize) -> Self {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let content = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        });
        Self {
            content: content.take(bytes).collect(),
            claimed: None,
            broken_from: None,
            read_to: 0,
        }
    }
}

impl BlockSource for MemorySource {
    fn available(&self) -> u64 {
        self.content.len() as u64
    }

    fn total(&self) -> Option<u64> {
        Some(self.available())
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let start = offset as usize;
        out.copy_from_slice(&self.content[start..start + out.len()]);
        self.read_to = offset + out.len() as u64;
    }

    fn release(&mut self, _below: u64) {}
}

impl ContentSource for MemorySource {
    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn digest(&self) -> Option<[u8; 32]> {
        let true_one = || *blake3::hash(&self.content).as_bytes();
        Some(self.claimed.unwrap_or_else(true_one))
    }

    fn failure(&self) -> Option<String> {
        let broken_from = self.broken_from?;
        (self.read_to > broken_from).then(|| "the disk is broken".to_owned())
    }
}

/// Storage in memory.
#[derive(Default)]
pub(crate) struct MemorySink {
    pub(crate) content: Vec<u8>,
    /// The time that each run takes.
    pub(crate) delay: Duration,
    /// The bytes after which the storage is full.
    pub(crate) capacity: Option<usize>,
    /// The time that the digest takes.
    pub(crate) digest_time: Duration,
    /// The size of the largest run.
    pub(crate) max_run: usize,
    claimed: Option<([u8; 32], Instant)>,
}

impl RunSink for MemorySink {
    fn write(&mut self, run: &[u8]) -> Result<(), String> {
        std::thread::sleep(self.delay);
        self.content.extend_from_slice(run);
        self.max_run = self.max_run.max(run.len());
        match self.capacity {
            Some(capacity) if self.content.len() > capacity => Err("the disk is full".to_owned()),
            _ => Ok(()),
        }
    }

    fn begin_verification(&mut self, claimed: [u8; 32]) {
        self.claimed = Some((claimed, Instant::now()));
    }

    fn verification(&mut self) -> Option<Result<bool, String>> {
        let (claimed, since) = self.claimed?;
        let is_over = since.elapsed() >= self.digest_time;
        is_over.then(|| Ok(*blake3::hash(&self.content).as_bytes() == claimed))
    }
}

/// The bytes that a mover has counted.
pub(crate) fn counted(bytes: &AtomicU64) -> u64 {
    bytes.load(Relaxed)
}
