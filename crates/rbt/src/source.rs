//! Where a sender takes the content from.

/// The bytes of a content, by offset.
pub trait BlockSource {
    /// The end of what can be read now; it never shrinks.
    fn available(&self) -> u64;

    /// The size of the content; `None` until its end was seen.
    fn total(&self) -> Option<u64>;

    /// Copies the bytes at `offset` into `out`. They lie between what was released and what is available.
    fn read(&mut self, offset: u64, out: &mut [u8]);

    /// Bytes below `below` will not be read again.
    fn release(&mut self, below: u64);
}

/// A content that is wholly in memory.
#[derive(Debug, Clone)]
pub struct MemoryContent<B>(pub B);

impl<B: AsRef<[u8]>> BlockSource for MemoryContent<B> {
    fn available(&self) -> u64 {
        self.0.as_ref().len() as u64
    }

    fn total(&self) -> Option<u64> {
        Some(self.available())
    }

    /// Bytes beyond the end read as zero: a sender does not ask for them.
    #[inline]
    fn read(&mut self, offset: u64, out: &mut [u8]) {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        match from
            .checked_add(out.len())
            .and_then(|to| self.0.as_ref().get(from..to))
        {
            Some(bytes) => out.copy_from_slice(bytes),
            None => out.fill(0),
        }
    }

    fn release(&mut self, _below: u64) {}
}
