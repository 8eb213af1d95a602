//! TCP segments, without payload.

use caudal_link::time::SimTime;

/// The blocks of the SACK option: data received out of order, the latest first (RFC 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SackBlocks {
    blocks: [(u64, u64); SackBlocks::MAX],
    count: u8,
    first_is_dsack: bool,
}

impl SackBlocks {
    /// Maximum number of blocks, without other options (RFC 2018 section 3); with timestamps it is three.
    pub(crate) const MAX: usize = 4;

    /// No blocks; `first_is_dsack` marks the first to be added as a report of a duplicate (D-SACK, RFC 2883).
    pub(crate) const fn new(first_is_dsack: bool) -> Self {
        Self {
            blocks: [(0, 0); Self::MAX],
            count: 0,
            first_is_dsack,
        }
    }

    /// Adds a block if there is room.
    pub(crate) fn push(&mut self, block: (u64, u64)) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            *slot = block;
            self.count += 1;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks[..usize::from(self.count)].iter().copied()
    }

    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    /// `true` when the first block reports a duplicate (D-SACK, RFC 2883).
    pub(crate) const fn first_is_dsack(&self) -> bool {
        self.first_is_dsack
    }
}

/// The payload of a segment by sequence number and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentRange {
    /// The sequence number of the first byte.
    pub(crate) sequence: u64,
    /// The length in bytes.
    pub(crate) length: u32,
}

/// A TCP segment. Sequence numbers count bytes of payload from 0; a SYN takes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpSegment {
    /// The sequence number of its first byte.
    pub(crate) sequence: u64,
    /// The length of the payload in bytes.
    pub(crate) length: u32,
    /// The sequence number that its sender expects next.
    pub(crate) acknowledgment: u64,
    /// The receive window in bytes.
    pub(crate) window: u64,
    /// The value of the timestamps option (RFC 7323), at full resolution.
    pub(crate) timestamp: SimTime,
    /// The echo reply of the timestamps option.
    pub(crate) timestamp_echo: Option<SimTime>,
    pub(crate) syn: bool,
    pub(crate) ack: bool,
    /// The end of the data that its sender had to send (RFC 9293 section 3.9.1.2).
    pub(crate) psh: bool,
    pub(crate) sack: SackBlocks,
}

impl TcpSegment {
    /// The length of its header in bytes, with the options of Linux: 20 bytes in a SYN with timestamps and window scale.
    pub(crate) fn header_bytes(&self, timestamps: bool) -> u32 {
        const BASE_BYTES: u32 = 20;
        if self.syn {
            return BASE_BYTES + if timestamps { 20 } else { 12 };
        }
        let blocks = self.sack.count() as u32;
        let sack_bytes = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        BASE_BYTES + sack_bytes + if timestamps { 12 } else { 0 }
    }
}
