//! The header of every datagram, and the test header in the first datagram of a flow.

use super::field::{put, word};
use super::header::{BASE, PATTERN_0, PATTERN_6, TestHeader, WIDE_IDS, are_flags, are_old_flags};

/// The number of bytes of a flow's first datagram that may hold headers.
pub const FIRST_BYTES: usize = 160;
const PATTERN_2: u32 = 0x3233_3435;

/// The layout of a peer's datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderLayout {
    /// 2.0.5 to 2.0.9: id, seconds, microseconds.
    Twelve,
    /// 2.0.10 to 2.0.12: the upper 32 bits of the id follow where they are used, and the report has 32 bits more.
    SixteenOld,
    /// 2.0.13 and later: the upper 32 bits of the id follow.
    Sixteen,
}

impl HeaderLayout {
    /// Bytes in a datagram's own header.
    #[must_use]
    pub const fn header(self) -> usize {
        match self {
            Self::Twelve => 12,
            Self::SixteenOld | Self::Sixteen => 16,
        }
    }
}

/// A datagram's own header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iperf2Datagram {
    /// Its number; negative in the last of a flow, and in its repetitions.
    pub id: i64,
    /// The time it was sent, by the sender's clock: seconds and microseconds.
    pub sent: (u32, u32),
}

impl Iperf2Datagram {
    /// Reads a header; `None` when bytes are missing.
    #[must_use]
    pub fn read(bytes: &[u8], layout: HeaderLayout, wide: bool) -> Option<Self> {
        let low = word(bytes, 0)?;
        let id = if wide && layout != HeaderLayout::Twelve {
            (i64::from(word(bytes, 12)? as i32) << 32) | i64::from(low)
        } else {
            i64::from(low as i32)
        };
        Some(Self {
            id,
            sent: (word(bytes, 4)?, word(bytes, 8)?),
        })
    }

    /// The number of a flow's last datagram, whose id is negative, when `next` is the number that is expected.
    ///
    /// 2.0.10 to 2.0.12 set the sign bit of the number, all others negate it. The two readings of an id are far apart:
    /// that nearer to the number expected is meant.
    #[must_use]
    pub const fn last_number(&self, wide: bool, next: u64) -> LastNumber {
        let negated = self.id.unsigned_abs();
        let signed = if wide {
            self.id as u64 & (u64::MAX >> 1)
        } else {
            self.id as u64 & 0x7fff_ffff
        };
        if signed.abs_diff(next) < negated.abs_diff(next) {
            LastNumber {
                number: signed,
                has_sign_bit: true,
            }
        } else {
            LastNumber {
                number: negated,
                has_sign_bit: false,
            }
        }
    }

    /// The time it was sent, ns after the epoch.
    #[must_use]
    pub const fn sent_ns(&self) -> u64 {
        (self.sent.0 as u64)
            .wrapping_mul(1_000_000_000)
            .wrapping_add((self.sent.1 as u64).wrapping_mul(1000))
    }
}

/// The number of a flow's last datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastNumber {
    /// The number.
    pub number: u64,
    /// `true` when its sign bit is set, as 2.0.10 to 2.0.12 do; `false` when it is negated.
    pub has_sign_bit: bool,
}

/// Writes a datagram's own header.
pub fn write_datagram_header(room: &mut [u8], layout: HeaderLayout, id: i64, sent: (u32, u32)) {
    put(room, 0, id as u32);
    put(room, 4, sent.0);
    put(room, 8, sent.1);
    if layout != HeaderLayout::Twelve {
        put(room, 12, (id >> 32) as u32);
    }
}

/// The content of the first datagram of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstDatagram {
    /// The layout of the peer's datagrams.
    pub layout: HeaderLayout,
    /// `true` when its ids have 64 bits.
    pub wide: bool,
    /// The datagram itself.
    pub datagram: Iperf2Datagram,
    /// The client's test header, where it sends one.
    pub header: Option<TestHeader>,
}

impl FirstDatagram {
    /// `true` when it only opens the flow: number 0 with an extended test header, before the numbers of the payload.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        self.datagram.id == 0 && self.header.is_some_and(|header| header.extended.is_some())
    }

    /// Reads a flow's first datagram; `None` when it is too short to be one.
    ///
    /// The layouts are distinguished by the 32-bit words at 12 and 16: where one has flags the other has the
    /// upper half of an id, which is 0 or all ones (from 2.0.10 to 2.0.12 the pattern), or a small number of threads.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        word(bytes, 8)?;
        let behind = |at: usize| bytes.get(at..).unwrap_or_default();
        let at_12 = word(bytes, 12);
        let at_16 = word(bytes, 16);
        let is_upper = matches!(at_12, Some(0 | 0xffff_ffff));
        let with = |layout: HeaderLayout, wide: bool, header: Option<TestHeader>| {
            Some(Self {
                layout,
                wide,
                datagram: Iperf2Datagram::read(bytes, layout, wide)?,
                header,
            })
        };
        match (at_12, at_16) {
            (_, Some(flags)) if is_upper && are_flags(flags) => {
                let header = TestHeader::decode(behind(16));
                // 2.0.13 has no extension, but announces its ids.
                let is_new = flags & WIDE_IDS != 0;
                let layout = match is_new || header.is_some_and(|header| header.extended.is_some())
                {
                    true => HeaderLayout::Sixteen,
                    false => HeaderLayout::SixteenOld,
                };
                with(layout, is_new, header)
            }
            // 2.0.13 has not yet written the upper half of the number into the datagram that only opens the flow.
            (Some(PATTERN_2), Some(flags)) if are_flags(flags) && flags & WIDE_IDS != 0 => {
                Some(Self {
                    layout: HeaderLayout::Sixteen,
                    wide: true,
                    datagram: Iperf2Datagram::read(bytes, HeaderLayout::Sixteen, false)?,
                    header: TestHeader::decode(behind(16)),
                })
            }
            (Some(PATTERN_2), Some(flags)) if flags == 0 || are_flags(flags) => {
                let header = TestHeader::decode(behind(16));
                with(HeaderLayout::SixteenOld, false, header)
            }
            // With 64-bit ids the upper half is written, and the pattern follows the flags.
            (Some(0), Some(0)) if word(bytes, 20) == Some(PATTERN_0) => {
                with(HeaderLayout::SixteenOld, true, None)
            }
            (Some(PATTERN_2), _) => with(HeaderLayout::Twelve, false, None),
            (_, Some(PATTERN_6)) if is_upper => with(HeaderLayout::Sixteen, true, None),
            // The short datagrams of 2.1 have sixteen bits of flags of their own.
            (_, Some(flags)) if is_upper && flags >> 16 == 2 => {
                with(HeaderLayout::Sixteen, true, None)
            }
            (Some(flags), Some(1..=4096)) if are_old_flags(flags) && bytes.len() >= 12 + BASE => {
                with(HeaderLayout::Twelve, false, TestHeader::decode(behind(12)))
            }
            (Some(_), _) if is_upper => with(HeaderLayout::Sixteen, true, None),
            _ => with(HeaderLayout::Twelve, false, None),
        }
    }
}
