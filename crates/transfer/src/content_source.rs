//! What a sender takes the content from, and what an end counts while it moves.

use caudal_rbt::BlockSource;
use std::os::fd::BorrowedFd;

/// What a sender takes the content from: its bytes by offset (`BlockSource`), its digest, and the reason when it cannot be read.
///
/// Reading never fails at once: a source that cannot read hands out zeros and says why in [`Self::failure`], which every mover looks at
/// after each batch.
pub trait ContentSource: BlockSource + Send {
    /// The file, when the kernel can send it by itself (sendfile).
    fn file(&self) -> Option<BorrowedFd<'_>>;

    /// The BLAKE3 digest of the whole content; `None` until the end of it was read.
    fn digest(&self) -> Option<[u8; 32]>;

    /// Why the content cannot be read, as text for the user: an error of the file system, or a file that changed while it was sent.
    fn failure(&self) -> Option<String>;

    /// `true` when it has become larger since it was opened: what it had then is sent.
    fn has_grown(&self) -> bool {
        false
    }
}

/// What an end counts while the content moves; times in ns of the monotonic clock, 0 before they have come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ContentCounts {
    /// Bytes of the content.
    pub(crate) bytes: u64,
    /// Calls of read or write.
    pub(crate) calls: u64,
    /// The first byte.
    pub(crate) first_byte_ns: u64,
    /// The last byte.
    pub(crate) last_byte_ns: u64,
}
