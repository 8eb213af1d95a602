//! A sender's source of an archive, in memory.

use crate::content_source::ContentSource;
use caudal_rbt::BlockSource;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// A sender's source of an archive, in memory.
#[derive(Debug)]
pub(crate) struct ArchiveSource {
    bytes: Arc<[u8]>,
    digest: Option<[u8; 32]>,
}

impl ArchiveSource {
    /// The source of an archive of these bytes, which have this digest.
    pub(crate) const fn new(bytes: Arc<[u8]>, digest: Option<[u8; 32]>) -> Self {
        Self { bytes, digest }
    }
}

impl BlockSource for ArchiveSource {
    fn available(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn total(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.bytes.get(from..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        out[count..].fill(0);
    }

    fn release(&mut self, _below: u64) {}
}

impl ContentSource for ArchiveSource {
    fn file(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn digest(&self) -> Option<[u8; 32]> {
        self.digest
    }

    fn failure(&self) -> Option<String> {
        None
    }
}
