//! Frames out of the bytes of a file, as they are read.

use super::frame::CapturedFrame;
use super::header::FileHeader;
use super::{pcap, pcapng};
use crate::bytes::{ByteOrder, be32};
use crate::error::CaptureError;
use crate::model::CaptureFormat;

/// A reader of one file, which is handed its bytes in pieces of any size.
///
/// Frames are parsed where the caller holds them. Only a record that two pieces share is copied.
#[derive(Debug)]
pub struct FrameReader {
    header: Option<FileHeader>,
    /// The beginning of a record whose end is not there yet.
    pending: Vec<u8>,
    /// Bytes of the file in front of the next record.
    offset: u64,
    failed: bool,
}

impl Default for FrameReader {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameReader {
    /// A reader at the beginning of a file.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            header: None,
            pending: Vec::new(),
            offset: 0,
            failed: false,
        }
    }

    /// The description of the file in it; `None` before its header.
    pub(crate) fn header(&self) -> Option<&FileHeader> {
        self.header.as_ref()
    }

    /// Bytes of complete records so far.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes in the next bytes of the file and hands each frame in them to `take`.
    ///
    /// # Errors
    /// When the file is no capture or is damaged; everything after that is ignored.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        take: &mut impl FnMut(&CapturedFrame<'_>),
    ) -> Result<(), CaptureError> {
        if self.failed {
            return Ok(());
        }
        let outcome = self.complete_pending(&mut bytes, take).and_then(|()| {
            while let Some(length) = self.record_bytes(bytes)?
                && length <= bytes.len()
            {
                let (record, rest) = bytes.split_at(length);
                self.read(record, take)?;
                bytes = rest;
            }
            self.pending.extend_from_slice(bytes);
            Ok(())
        });
        self.failed = outcome.is_err();
        outcome
    }

    /// Ends the file.
    ///
    /// # Errors
    /// When it ends in the middle of a record, or has no header.
    pub fn finish(&mut self) -> Result<(), CaptureError> {
        let offset = self.offset;
        if self.failed || (self.pending.is_empty() && self.header.is_some()) {
            return Ok(());
        }
        Err(CaptureError::CutShort {
            offset,
            end: offset + self.pending.len() as u64,
        })
    }

    /// Completes the record that earlier pieces began.
    fn complete_pending(
        &mut self,
        bytes: &mut &[u8],
        take: &mut impl FnMut(&CapturedFrame<'_>),
    ) -> Result<(), CaptureError> {
        while !self.pending.is_empty() {
            let length = self.record_bytes(&self.pending)?;
            let wanted = length.unwrap_or(self.pending.len() + 1);
            let missing = (wanted - self.pending.len()).min(bytes.len());
            let (more, rest) = bytes.split_at(missing);
            self.pending.extend_from_slice(more);
            *bytes = rest;
            // Its last bytes may have told that nothing else follows: a record without a frame is its header alone.
            if self.record_bytes(&self.pending)? == Some(self.pending.len()) {
                let record = std::mem::take(&mut self.pending);
                self.read(&record, take)?;
                self.pending = record;
                self.pending.clear();
            } else if bytes.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// The bytes of the record that `bytes` begin with; `None` while that cannot be determined.
    #[inline]
    fn record_bytes(&self, bytes: &[u8]) -> Result<Option<usize>, CaptureError> {
        match &self.header {
            Some(header) => {
                let is_pcapng = header.current == CaptureFormat::Pcapng;
                match another_header(bytes, is_pcapng) {
                    None => Ok(None),
                    Some(Some(length)) => Ok(Some(length)),
                    Some(None) if is_pcapng => {
                        pcapng::block_bytes(bytes, header.order, self.offset)
                    }
                    Some(None) => pcap::record_bytes(bytes, header.order, self.offset),
                }
            }
            None if bytes.len() < 4 => Ok(None),
            None => match be32(bytes, 0) {
                pcapng::SECTION_HEADER => pcapng::block_bytes(bytes, ByteOrder::Big, 0),
                magic if pcap::recognise(magic).is_some() => Ok(Some(pcap::HEADER_BYTES)),
                magic => Err(foreign(magic)),
            },
        }
    }

    /// Reads one complete record.
    #[inline]
    fn read(
        &mut self,
        record: &[u8],
        take: &mut impl FnMut(&CapturedFrame<'_>),
    ) -> Result<(), CaptureError> {
        let offset = self.offset;
        match &mut self.header {
            Some(header) if pcap::begins_another(record) == Some(true) => {
                if !pcap::read_another(record, header) {
                    let what = "the file holds more than 4096 captures or interfaces";
                    return Err(CaptureError::Damaged { offset, what });
                }
            }
            Some(header) if is_section(header, record) => {
                if let Some(frame) = pcapng::read_block(record, header, offset)? {
                    take(&frame);
                }
            }
            Some(header) => take(&pcap::read_record(record, header)),
            None => self.header = Some(read_header(record)?),
        }
        self.offset += record.len() as u64;
        Ok(())
    }
}

/// The bytes of the header of another capture that `bytes` begin with, `Some(None)` when they begin with none; `None` while that cannot be determined.
#[inline]
fn another_header(bytes: &[u8], is_pcapng: bool) -> Option<Option<usize>> {
    if bytes.len() < 4 {
        return None;
    }
    if pcap::begins_another(bytes)? {
        return Some(Some(pcap::HEADER_BYTES));
    }
    // In a file of pcapng a section is a block like others.
    if is_pcapng || be32(bytes, 0) != pcapng::SECTION_HEADER {
        return Some(None);
    }
    if bytes.len() < 12 {
        return None;
    }
    let order = pcapng::section_order(bytes);
    let length = order.and_then(|order| pcapng::block_bytes(bytes, order, 0).ok());
    Some(length.flatten())
}

/// `true` for a block of pcapng, also the first one behind a capture in the format pcap.
#[inline]
fn is_section(header: &FileHeader, record: &[u8]) -> bool {
    header.current == CaptureFormat::Pcapng
        || (be32(record, 0) == pcapng::SECTION_HEADER && pcapng::section_order(record).is_some())
}

fn read_header(record: &[u8]) -> Result<FileHeader, CaptureError> {
    let magic = be32(record, 0);
    if let Some((order, format)) = pcap::recognise(magic) {
        return Ok(pcap::read_header(record, order, format));
    }
    let order = pcapng::section_order(record).ok_or(CaptureError::NotACapture { magic })?;
    let mut header = FileHeader::new(CaptureFormat::Pcapng, order);
    pcapng::read_block(record, &mut header, 0)?;
    Ok(header)
}

/// What a file with another beginning is.
fn foreign(magic: u32) -> CaptureError {
    match magic {
        0xA1B2_CD34 | 0x34CD_B2A1 => CaptureError::Unsupported {
            what: "the modified pcap format of Kuznetzov",
        },
        _ if magic >> 16 == 0x1F8B => CaptureError::Compressed { with: "gzip" },
        0x28B5_2FFD => CaptureError::Compressed { with: "zstd" },
        0xFD37_7A58 => CaptureError::Compressed { with: "xz" },
        0x0422_4D18 | 0x0222_4D18 => CaptureError::Compressed { with: "lz4" },
        _ => CaptureError::NotACapture { magic },
    }
}
