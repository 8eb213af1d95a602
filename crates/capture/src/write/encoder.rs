//! The blocks of a pcapng file with one section.
//!
//! Source: draft-ietf-opsawg-pcapng. Integers are little-endian, times in ns.

use crate::read::{FrameOrigin, GsoRecord, LinkType};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
/// The length of a section that is not known beforehand.
const UNKNOWN_LENGTH: u64 = u64::MAX;
const COMMENT: u16 = 1;
/// Largest value of an option; longer text is cut.
const MAX_OPTION_BYTES: usize = 0xffff;

/// An interface of a file.
#[derive(Debug, Clone, Copy)]
pub struct InterfaceDescription<'a> {
    /// Its name.
    pub name: &'a str,
    /// The format of its frames' first header.
    pub link_type: LinkType,
    /// The number of bytes of a frame that are kept; 0 for no limit.
    pub snap_bytes: u32,
    /// The filter, as text; empty without one.
    pub filter: &'a str,
}

/// A frame to write.
#[derive(Debug, Clone, Copy)]
pub struct WrittenFrame<'a> {
    /// The number of its interface, in the order of their descriptions.
    pub interface: u32,
    /// The time, ns since 1970.
    pub at_ns: u64,
    /// The bytes that it had on the link.
    pub original_bytes: u32,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// Whether this host sent or received it.
    pub origin: FrameOrigin,
    /// What the kernel said about its segmentation: written as the comment `caudal: gso_type=1 gso_size=1448`, which the reader of
    /// this crate takes for exact.
    pub gso: Option<GsoRecord>,
    /// A comment; empty without one.
    pub comment: &'a str,
}

/// The counters of an interface at the end of a capture.
#[derive(Debug, Clone, Copy)]
pub struct InterfaceStatistics {
    /// The number of the interface.
    pub interface: u32,
    /// The time, ns since 1970.
    pub at_ns: u64,
    /// Frames received (`isb_ifrecv`).
    pub received: u64,
    /// Frames the kernel dropped because nobody read them in time (`isb_osdrop`).
    pub dropped: u64,
}

/// An encoder, whose bytes the caller takes away and writes where they belong.
#[derive(Debug, Default, Clone)]
pub struct PcapngEncoder {
    bytes: Vec<u8>,
}

impl PcapngEncoder {
    /// An encoder that has written the header of a section: the program that captures, and a comment; both may be empty.
    #[must_use]
    pub fn new(program: &str, comment: &str) -> Self {
        let mut encoder = Self::default();
        encoder.block(SECTION_HEADER, |bytes| {
            bytes.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
            // Version 1.0.
            bytes.extend_from_slice(&[1, 0, 0, 0]);
            bytes.extend_from_slice(&UNKNOWN_LENGTH.to_le_bytes());
            text(bytes, COMMENT, comment);
            text(bytes, 4, program);
            end(bytes);
        });
        encoder
    }

    /// What was encoded since the last call of [`Self::clear`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the bytes, once they are written; their memory is used again.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Describes the next interface, counted from 0.
    pub fn interface(&mut self, interface: &InterfaceDescription<'_>) {
        self.block(INTERFACE, |bytes| {
            bytes.extend_from_slice(&interface.link_type.number().to_le_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes.extend_from_slice(&interface.snap_bytes.to_le_bytes());
            text(bytes, 2, interface.name);
            // `if_tsresol`: 10^-9 s.
            option(bytes, 9, &[&[9]]);
            if !interface.filter.is_empty() {
                // The first byte tells that it is text.
                option(bytes, 11, &[&[0], interface.filter.as_bytes()]);
            }
            end(bytes);
        });
    }

    /// Writes a frame.
    pub fn frame(&mut self, frame: &WrittenFrame<'_>) {
        self.block(ENHANCED_PACKET, |bytes| {
            bytes.extend_from_slice(&frame.interface.to_le_bytes());
            bytes.extend_from_slice(&((frame.at_ns >> 32) as u32).to_le_bytes());
            bytes.extend_from_slice(&(frame.at_ns as u32).to_le_bytes());
            bytes.extend_from_slice(&(frame.data.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&frame.original_bytes.to_le_bytes());
            bytes.extend_from_slice(frame.data);
            pad(bytes, frame.data.len());
            let before = bytes.len();
            let direction: u32 = match frame.origin {
                FrameOrigin::Unknown => 0,
                FrameOrigin::Received => 1,
                FrameOrigin::Sent => 2,
            };
            if direction > 0 {
                option(bytes, 2, &[&direction.to_le_bytes()]);
            }
            if let Some(gso) = frame.gso {
                text(bytes, COMMENT, &gso.to_string());
            }
            text(bytes, COMMENT, frame.comment);
            if bytes.len() > before {
                end(bytes);
            }
        });
    }

    /// Writes the counters of an interface.
    pub fn statistics(&mut self, statistics: &InterfaceStatistics) {
        self.block(STATISTICS, |bytes| {
            bytes.extend_from_slice(&statistics.interface.to_le_bytes());
            bytes.extend_from_slice(&((statistics.at_ns >> 32) as u32).to_le_bytes());
            bytes.extend_from_slice(&(statistics.at_ns as u32).to_le_bytes());
            option(bytes, 4, &[&statistics.received.to_le_bytes()]);
            option(bytes, 7, &[&statistics.dropped.to_le_bytes()]);
            end(bytes);
        });
    }

    /// Writes a block around a body, with its length in front of it and behind it.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&kind.to_le_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        body(&mut self.bytes);
        let length = (self.bytes.len() + 4 - start) as u32;
        self.bytes.extend_from_slice(&length.to_le_bytes());
        self.bytes[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    }
}

fn pad(bytes: &mut Vec<u8>, length: usize) {
    let zeros = [0; 3];
    bytes.extend_from_slice(&zeros[..length.next_multiple_of(4) - length]);
}

/// Writes an option whose value is in parts.
fn option(bytes: &mut Vec<u8>, code: u16, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let kept = length.min(MAX_OPTION_BYTES);
    bytes.extend_from_slice(&code.to_le_bytes());
    bytes.extend_from_slice(&(kept as u16).to_le_bytes());
    let start = bytes.len();
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes.truncate(start + kept);
    pad(bytes, kept);
}

/// Writes an option of text, unless it is empty.
fn text(bytes: &mut Vec<u8>, code: u16, value: &str) {
    if !value.is_empty() {
        let mut cut = value.len().min(MAX_OPTION_BYTES);
        while !value.is_char_boundary(cut) {
            cut -= 1;
        }
        option(bytes, code, &[&value.as_bytes()[..cut]]);
    }
}

/// `opt_endofopt`.
fn end(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&[0; 4]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::{FrameReader, GsoKind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read_again(
            data in proptest::collection::vec(any::<u8>(), 0..200),
            at_ns in 0..u64::MAX / 2,
            more in 0..1_000_u32,
            size in 1..u16::MAX,
            comment in ".{0,20}",
        ) {
            let gso = GsoRecord { kind: GsoKind::TcpV6, size };
            let mut encoder = PcapngEncoder::new("a test", "a comment");
            encoder.interface(&InterfaceDescription {
                name: "eth0", link_type: LinkType::Ethernet, snap_bytes: 200, filter: "tcp",
            });
            encoder.frame(&WrittenFrame {
                interface: 0, at_ns, original_bytes: data.len() as u32 + more, data: &data,
                origin: FrameOrigin::Sent, gso: Some(gso), comment: &comment,
            });
            encoder.statistics(&InterfaceStatistics { interface: 0, at_ns, received: 7, dropped: 3 });
            let mut frames = 0;
            let mut reader = FrameReader::new();
            reader.push(encoder.bytes(), &mut |frame| {
                frames += 1;
                assert_eq!((frame.data, frame.at_ns), (&data[..], Some(at_ns)));
                assert_eq!(frame.original_bytes, data.len() as u32 + more);
                assert_eq!((frame.origin, frame.gso), (FrameOrigin::Sent, Some(gso)));
            }).unwrap();
            reader.finish().unwrap();
            prop_assert_eq!(frames, 1);
            let header = reader.header().unwrap();
            let interface = header.interfaces[0].document();
            prop_assert!(interface.name.is_some_and(|name| name == *"eth0"));
            prop_assert!(interface.filter.is_some_and(|filter| filter == *"tcp"));
            prop_assert_eq!((interface.received_frames, interface.dropped_frames), (Some(7), Some(3)));
            prop_assert_eq!(header.comments[0].as_received(), "a comment");
        }
    }
}
