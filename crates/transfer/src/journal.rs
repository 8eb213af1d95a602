//! The journal of a partial file: which of its units have arrived, and with what content.
//!
//! `NAME.part.journal` has a header (the characters `caudalj1`, the size and the time of change of the whole file as 64-bit and the
//! length of its name as 16-bit little-endian numbers, the name), and 32 bytes for each unit of 1 MiB in turn: its chaining value in
//! BLAKE3's tree. A record is written after the unit that it describes.

use super::tree_digest::{UNIT_BYTES, unit_digest};
use blake3::hazmat::ChainingValue;
use caudal_core::plan::FileIdentity;
use caudal_core::units::ByteCount;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// The first bytes of a journal: its format and version.
const MAGIC: &[u8; 8] = b"caudalj1";
/// The bytes of a record.
const RECORD_BYTES: usize = 32;
/// Maximum size of a journal that is read: that of a file of 16 TiB.
const MAX_BYTES: u64 = 512 << 20;
/// Maximum time for comparing units with their records before a transfer is accepted; the others are compared while it runs.
const MAX_COMPARISON: Duration = Duration::from_secs(4);

/// The identity of a file whose transfer can be continued: its size and time of change are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalHeader {
    /// The size.
    pub(super) bytes: u64,
    /// The time of the last change, ns since 1970.
    pub(super) modified_ns: u64,
    /// The name.
    pub(super) name: String,
}

impl JournalHeader {
    /// The header for a file; `None` where its size or time of change is not known.
    pub(super) fn of(file: &FileIdentity) -> Option<Self> {
        Some(Self {
            bytes: file.bytes?.get(),
            modified_ns: file.modified_ns?,
            name: file.name.clone(),
        })
    }

    /// The file it describes.
    pub(super) fn identity(&self) -> FileIdentity {
        FileIdentity {
            name: self.name.clone(),
            bytes: Some(ByteCount::new(self.bytes)),
            modified_ns: Some(self.modified_ns),
            permissions: None,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend(self.bytes.to_le_bytes());
        header.extend(self.modified_ns.to_le_bytes());
        // A name has 1024 bytes at most.
        header.extend((self.name.len() as u16).to_le_bytes());
        header.extend(self.name.as_bytes());
        header
    }

    fn decode(from: &mut &[u8]) -> Option<Self> {
        let mut take = |count: usize| {
            let (taken, rest) = from.split_at_checked(count)?;
            *from = rest;
            Some(taken)
        };
        if take(MAGIC.len())? != MAGIC {
            return None;
        }
        let bytes = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let modified_ns = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let length = u16::from_le_bytes(take(2)?.try_into().ok()?);
        let name = std::str::from_utf8(take(usize::from(length))?).ok()?;
        Some(Self {
            bytes,
            modified_ns,
            name: name.to_owned(),
        })
    }
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JournalContent {
    /// The file.
    pub(super) header: JournalHeader,
    /// The digests of the units that have arrived, without the last of the file: a transfer has a byte at least.
    pub(super) units: Vec<ChainingValue>,
}

impl JournalContent {
    /// Reads a journal; `None` when it is none, or of another version.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn read(file: &File) -> io::Result<Option<Self>> {
        if file.metadata()?.len() > MAX_BYTES {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut reader = file;
        reader.read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        let Some(header) = JournalHeader::decode(&mut rest) else {
            return Ok(None);
        };
        let max = (header.bytes.saturating_sub(1) / UNIT_BYTES) as usize;
        let (records, _torn) = rest.as_chunks::<RECORD_BYTES>();
        let units = records.iter().take(max).copied().collect();
        Ok(Some(Self { header, units }))
    }

    /// Leaves out the units from the first on that differs in `part`; the number of those that were compared with it. Not all are where
    /// that takes long.
    pub(super) fn compare(&mut self, part: &File) -> usize {
        let until = Instant::now() + MAX_COMPARISON;
        let mut unit = vec![0; UNIT_BYTES as usize];
        for number in 0..self.units.len() {
            if Instant::now() >= until {
                return number;
            }
            if !is_equal(part, number as u64, &self.units[number], &mut unit) {
                self.units.truncate(number);
                return number;
            }
        }
        self.units.len()
    }
}

/// `true` when the unit with this number is as its record describes it; `buffer` has room for it.
pub(super) fn is_equal(
    part: &File,
    number: u64,
    record: &ChainingValue,
    buffer: &mut [u8],
) -> bool {
    part.read_exact_at(buffer, number * UNIT_BYTES).is_ok()
        && unit_digest(number, buffer) == *record
}

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct JournalWriter {
    file: File,
    records: u64,
}

impl JournalWriter {
    /// Writes the header and these records to an empty or an outdated file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn begin(
        mut file: File,
        header: &JournalHeader,
        units: &[ChainingValue],
    ) -> io::Result<Self> {
        let mut bytes = header.encode();
        bytes.extend(units.as_flattened());
        // What is kept is written over itself; at no time is a record behind another file's header.
        if units.is_empty() {
            file.set_len(0)?;
        }
        file.write_all_at(&bytes, 0)?;
        file.set_len(bytes.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self {
            file,
            records: units.len() as u64,
        })
    }

    /// Records the next unit.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn record(&mut self, unit: &ChainingValue) -> io::Result<()> {
        self.file.write_all(unit)?;
        self.records += 1;
        Ok(())
    }

    /// The number of units recorded.
    pub(super) const fn records(&self) -> u64 {
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ScratchDirectory;
    use super::*;
    use std::fs::OpenOptions;

    fn header(bytes: u64) -> JournalHeader {
        JournalHeader {
            bytes,
            modified_ns: 12_345,
            name: "sub/name".to_owned(),
        }
    }

    fn file(scratch: &ScratchDirectory, name: &str) -> File {
        let path = scratch.path().join(name);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(path).unwrap()
    }

    #[test]
    fn a_journal_says_what_was_recorded_though_its_last_record_is_torn() {
        let scratch = ScratchDirectory::new("journal");
        let mut writer =
            JournalWriter::begin(file(&scratch, "j"), &header(10 << 20), &[[1; 32]]).unwrap();
        writer.record(&[2; 32]).unwrap();
        assert_eq!(writer.records(), 2);
        writer.file.write_all(&[3; 17]).unwrap();
        let read = JournalContent::read(&file(&scratch, "j")).unwrap().unwrap();
        assert_eq!(read.header, header(10 << 20));
        assert_eq!(read.units, [[1; 32], [2; 32]]);
    }

    #[test]
    fn the_last_unit_of_a_file_is_always_transferred_again() {
        let scratch = ScratchDirectory::new("journal");
        let units = [[1; 32], [2; 32]];
        for (bytes, kept) in [(0, 0), (1 << 20, 0), ((1 << 20) + 1, 1), (2 << 20, 1)] {
            JournalWriter::begin(file(&scratch, "j"), &header(bytes), &units).unwrap();
            let read = JournalContent::read(&file(&scratch, "j")).unwrap().unwrap();
            assert_eq!(read.units.len(), kept, "{bytes}");
        }
    }

    #[test]
    fn a_unit_that_differs_ends_what_is_kept() {
        let scratch = ScratchDirectory::new("journal");
        let content: Vec<u8> = (0..3 << 20).map(|at: u32| (at % 253) as u8).collect();
        scratch.write("part", &content);
        let units = content.chunks(1 << 20).enumerate();
        let units: Vec<_> = units
            .map(|(number, unit)| unit_digest(number as u64, unit))
            .collect();
        let mut journal = JournalContent {
            header: header(4 << 20),
            units,
        };
        let part = file(&scratch, "part");
        assert_eq!(journal.compare(&part), 3);
        part.write_all_at(&[0xff], (1 << 20) + 5).unwrap();
        assert_eq!((journal.compare(&part), journal.units.len()), (1, 1));
    }

    #[test]
    fn another_file_is_no_journal() {
        let scratch = ScratchDirectory::new("journal");
        for content in [
            &b""[..],
            b"caudalj",
            b"something else altogether, and long enough",
        ] {
            scratch.write("j", content);
            assert_eq!(JournalContent::read(&file(&scratch, "j")).unwrap(), None);
        }
    }
}
