//! What an end counts while a content moves.

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
