//! How reading a capture fails.

/// The reason why bytes are no capture that is read here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// The first bytes are those of no known format.
    #[error("this is no pcap or pcapng file: it begins with {magic:08x}")]
    NotACapture {
        /// The first four bytes, big-endian.
        magic: u32,
    },
    /// The file is compressed.
    #[error("the file is compressed with {with}: decompress it first")]
    Compressed {
        /// The program that compressed it.
        with: &'static str,
    },
    /// The format is a variant that is not read here.
    #[error("{what} is not read: convert the file with editcap")]
    Unsupported {
        /// The variant.
        what: &'static str,
    },
    /// The file contradicts its own format.
    #[error("damaged at byte {offset}: {what}")]
    Damaged {
        /// Bytes of the file in front of the record.
        offset: u64,
        /// What is wrong with the record.
        what: &'static str,
    },
    /// The file ends in the middle of a record.
    #[error("the file ends at byte {end}, in the middle of the record at byte {offset}")]
    CutShort {
        /// Bytes of the file in front of the record.
        offset: u64,
        /// Bytes of the file.
        end: u64,
    },
}
