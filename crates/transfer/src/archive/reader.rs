//! The entries of an archive as it arrives.

use super::entry::{EntryHeader, HEADER_BYTES};

/// An entry that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArchiveEntry<'a> {
    pub(super) header: EntryHeader,
    pub(super) name: &'a str,
    pub(super) content: &'a [u8],
}

/// Takes an archive in pieces of any size, and gives its entries. It holds one entry and one piece at most.
#[derive(Debug, Default)]
pub(super) struct ArchiveReader {
    buffer: Vec<u8>,
    /// The bytes at the beginning of the buffer whose entries were given.
    taken: usize,
}

impl ArchiveReader {
    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(piece);
    }

    /// The next entry, where all of it has arrived.
    ///
    /// # Errors
    /// When what arrived is no entry, as text for the user.
    pub(super) fn next_entry(&mut self) -> Result<Option<ArchiveEntry<'_>>, String> {
        let rest = &self.buffer[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let malformed = || "what arrives is no archive of files".to_owned();
        let header = EntryHeader::decode(header).ok_or_else(malformed)?;
        let Some((name, rest)) = rest.split_at_checked(header.name_bytes) else {
            return Ok(None);
        };
        let Some(content) = rest.get(..header.file_bytes) else {
            return Ok(None);
        };
        let name = std::str::from_utf8(name).map_err(|_| malformed())?;
        self.taken += HEADER_BYTES + header.name_bytes + header.file_bytes;
        Ok(Some(ArchiveEntry {
            header,
            name,
            content,
        }))
    }

    /// `true` when every byte was part of an entry that was given.
    pub(super) const fn is_at_end(&self) -> bool {
        self.taken == self.buffer.len()
    }
}
