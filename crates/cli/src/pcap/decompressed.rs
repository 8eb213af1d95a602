//! Captures that gzip or zstd compressed.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// The first bytes of a member of gzip (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// The first bytes of a frame of zstd (RFC 8878 section 3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// The bytes of a capture, decompressed where they have to be.
pub(super) enum Decompressed<R: Read> {
    /// Not compressed, or by something that is not read here.
    Plain(BufReader<R>),
    Gzip(MultiGzDecoder<BufReader<R>>),
    Zstd(Box<ZstdFrames<R>>),
}

impl<R: Read> Decompressed<R> {
    /// The capture in `source`.
    ///
    /// # Errors
    /// When the first bytes cannot be read.
    pub(super) fn new(mut source: BufReader<R>) -> io::Result<Self> {
        let first = source.fill_buf()?;
        Ok(if first.starts_with(&GZIP) {
            Self::Gzip(MultiGzDecoder::new(source))
        } else if first.starts_with(&ZSTD) {
            Self::Zstd(Box::new(ZstdFrames {
                source,
                decoder: FrameDecoder::new(),
                is_in_frame: false,
            }))
        } else {
            Self::Plain(source)
        })
    }

    /// What reading fails for where it is not the source that fails; `None` where nothing is decompressed.
    pub(super) const fn damage(&self) -> Option<&'static str> {
        match self {
            Self::Plain(_) => None,
            Self::Gzip(_) => Some("what gzip compressed is damaged or ends early"),
            Self::Zstd(_) => Some("what zstd compressed is damaged or ends early"),
        }
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(piece),
            Self::Gzip(decoder) => decoder.read(piece),
            Self::Zstd(frames) => frames.read(piece),
        }
    }
}

/// The frames of zstd that follow one another in a source (RFC 8878 section 3).
pub(super) struct ZstdFrames<R: Read> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: Read> ZstdFrames<R> {
    /// Begins the next frame; `false` at the end of the source.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.is_in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(u64::from(length));
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
        Ok(false)
    }

    /// Holds the content against its checksum, where the frame has one.
    fn check(&self) -> io::Result<()> {
        let told = self.decoder.get_checksum_from_data();
        if told.is_some() && told != self.decoder.get_calculated_checksum() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "wrong checksum"));
        }
        Ok(())
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame && !self.begin()? {
                return Ok(0);
            }
            let read = self.decoder.read(piece)?;
            if read > 0 || piece.is_empty() {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.is_in_frame = false;
                continue;
            }
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = self.decoder.decode_blocks(&mut self.source, one);
            decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "caudal" and a line feed, as gzip writes them.
    const GZIPPED: [u8; 27] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 75, 78, 44, 77, 73, 204, 225, 2, 0, 176, 54, 100, 1, 7, 0,
        0, 0,
    ];
    /// The same, as `zstd --no-check` writes it.
    const ZSTD_FRAME: [u8; 16] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 0x39, 0x00, 0x00, 0x63, 0x61, 0x75, 0x64, 0x61, 0x6c,
        0x0a,
    ];
    /// A skippable frame of three bytes (RFC 8878 section 3.1.2).
    const SKIPPED: [u8; 11] = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Decompressed::new(BufReader::with_capacity(7, bytes))?.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn members_and_frames_that_follow_one_another_are_read_as_one() {
        assert_eq!(read(b"caudal\n").unwrap(), b"caudal\n");
        assert_eq!(read(&GZIPPED.repeat(2)).unwrap(), b"caudal\n".repeat(2));
        let frames = [&ZSTD_FRAME[..], &SKIPPED, &ZSTD_FRAME].concat();
        assert_eq!(read(&frames).unwrap(), b"caudal\n".repeat(2));
    }

    #[test]
    fn what_ends_early_is_an_error_and_not_an_end() {
        for whole in [&GZIPPED[..], &ZSTD_FRAME] {
            for bytes in 5..whole.len() {
                assert!(read(&whole[..bytes]).is_err(), "{bytes} of {whole:x?}");
            }
        }
    }
}
