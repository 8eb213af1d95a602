//! Compression of documents by zlib.

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use std::io::{Read, Write};

/// Compresses text into zlib's format (RFC 1950), or leaves it as it is where that is not shorter. The length
/// distinguishes the two, as SQLite's `sqlar_uncompress(packed, size)` does.
pub(super) fn pack(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(text).and_then(|()| encoder.finish());
    match packed {
        Ok(packed) if packed.len() < text.len() => packed,
        _ => text.to_vec(),
    }
}

/// Maximum size of a decompressed text, bytes: a store may come from anybody, and zlib packs 1032 bytes into one.
const MAX_UNPACKED: u64 = 512 << 20;

/// Decompresses a text; `None` unless it has `size` bytes, and not more than a document may have.
pub(super) fn unpack(packed: &[u8], size: u64) -> Option<Vec<u8>> {
    if size > MAX_UNPACKED {
        return None;
    }
    if packed.len() as u64 == size {
        return Some(packed.to_vec());
    }
    // The size is not trusted: it bounds what is read, and no memory is allocated for it.
    let mut text = Vec::new();
    ZlibDecoder::new(packed)
        .take(size.saturating_add(1))
        .read_to_end(&mut text)
        .ok()?;
    (text.len() as u64 == size).then_some(text)
}

/// A compressed document with its original size.
pub(super) struct Packed {
    pub(super) size: u64,
    pub(super) bytes: Vec<u8>,
}

impl Packed {
    pub(super) fn from_json(value: &impl Serialize) -> Self {
        let text = serde_json::to_string(value).expect("documents have texts for keys");
        Self::from_text(&text)
    }

    pub(super) fn from_text(text: &str) -> Self {
        Self {
            size: text.len() as u64,
            bytes: pack(text.as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_does_not_get_shorter_is_left_as_it_is() {
        assert_eq!(pack(b"{}"), b"{}");
        assert_eq!(unpack(b"{}", 2).unwrap(), b"{}");
        assert_eq!(unpack(&pack(b""), 0).unwrap(), b"");
    }

    #[test]
    fn a_text_beyond_what_a_document_may_have_is_not_unpacked() {
        let zeros = pack(&vec![0; 1 << 20]);
        assert!(unpack(&zeros, 1 << 20).is_some());
        assert_eq!(unpack(&zeros, MAX_UNPACKED + 1), None);
    }
}
