//! A TCP segment without its payload.

use caudal_link::moment::Moment;

/// Stretches of the sequence that arrived out of order, the latest first (RFC 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Blocks {
    blocks: [(u64, u64); Blocks::MOST],
    count: u8,
    first_repeats: bool,
}

impl Blocks {
    /// What fits beside no other option (RFC 2018 section 3); with timestamps it is three.
    pub(crate) const MOST: usize = 4;

    /// No blocks yet; whether the first to come tells of a repeated segment (RFC 2883).
    pub(crate) const fn none(first_repeats: bool) -> Self {
        Self {
            blocks: [(0, 0); Self::MOST],
            count: 0,
            first_repeats,
        }
    }

    /// Adds a block, unless there is no room.
    pub(crate) fn push(&mut self, block: (u64, u64)) {
        if let Some(free) = self.blocks.get_mut(usize::from(self.count)) {
            *free = block;
            self.count += 1;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks[..usize::from(self.count)].iter().copied()
    }

    pub(crate) const fn count(&self) -> usize {
        self.count as usize
    }

    /// Whether the first block tells of a segment that came before (RFC 2883).
    pub(crate) const fn first_repeats(&self) -> bool {
        self.first_repeats
    }
}

/// A segment: stretches of the sequence are counted in bytes from 0, and a SYN takes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    /// Bytes of payload.
    pub(crate) length: u32,
    /// The first byte its sender has not received.
    pub(crate) acknowledged: u64,
    /// Bytes behind that its sender has room for.
    pub(crate) window: u64,
    /// The timestamps option's value, without its coarse clock (RFC 7323).
    pub(crate) sent: Moment,
    /// What is echoed of the other side's.
    pub(crate) echoed: Option<Moment>,
    pub(crate) syn: bool,
    pub(crate) acknowledges: bool,
    /// The end of what its sender had to send at once (PSH, RFC 9293 section 3.9.1.2).
    pub(crate) pushed: bool,
    pub(crate) blocks: Blocks,
}

impl Segment {
    /// Bytes of its header with the options that Linux puts there: 20 of them in a SYN with timestamps and window scale.
    pub(crate) fn header_bytes(&self, timestamps: bool) -> u32 {
        const BARE: u32 = 20;
        if self.syn {
            return BARE + if timestamps { 20 } else { 12 };
        }
        let blocks = self.blocks.count() as u32;
        let selective = if blocks > 0 { 4 + 8 * blocks } else { 0 };
        BARE + selective + if timestamps { 12 } else { 0 }
    }
}
