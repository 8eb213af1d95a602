//! The test header: the client's request, in the first bytes of its connection or of every datagram.
//!
//! ```text
//!  0 flags   4 threads   8 port to connect back to   12 length   16 window or rate   20 amount
//! 24 type   28 length   32 upper flags  34 lower flags   36 version   40 patch level
//! 44 reserved  46 TOS   48 rate low   52 rate high << 8   56 write prefetch  (2.2: 60 barrier)
//! ```
//! The first line is the whole header of 2.0.x; from 2.0.10 on, flags announce that more follows. Up to 2.0.13 that is of a
//! fixed length, its rate has the low 32 bits only, and its lower flags have another meaning; 2.1 announces the length. In
//! UDP the header comes after the datagram's own, of 12 bytes up to 2.0.9 and of 16 since.

use super::field::{half, put, put_half, word};

/// The port of iperf 2, TCP and UDP.
pub const PORT: u16 = 5001;
/// Maximum length of a test header with all its parts, the key included, bytes.
pub const MAX_HEADER_BYTES: usize = 512;

const VERSION1: u32 = 0x8000_0000;
const EXTEND: u32 = 0x4000_0000;
const UDP_TESTS: u32 = 0x2000_0000;
const KEY_CHECK: u32 = 0x1000_0000;
pub(super) const WIDE_IDS: u32 = 0x0800_0000;
const VERSION2: u32 = 0x0400_0000;
const PEER_DETECT: u32 = 0x0200_0000;
const UDP_AVOID: u32 = 0x0100_0000;
const BOUNCEBACK_FLAG: u32 = 0x0080_0000;
const SMALL_TRIP_TIMES: u32 = 0x0002_0000;
const LENGTH_BIT: u32 = 0x0001_0000;
const LENGTH_MASK: u32 = 0x0000_01fe;
const RUN_NOW: u32 = 1;
/// All flags; a word with any other bit is payload.
const KNOWN: u32 = VERSION1
    | EXTEND
    | UDP_TESTS
    | KEY_CHECK
    | WIDE_IDS
    | VERSION2
    | PEER_DETECT
    | UDP_AVOID
    | BOUNCEBACK_FLAG
    | SMALL_TRIP_TIMES
    | LENGTH_BIT
    | 0xffff;
pub(super) const PATTERN_0: u32 = 0x3031_3233;
pub(super) const PATTERN_6: u32 = 0x3637_3839;

/// In the lower flags up to 2.0.13: the rate is one of packets.
const UNITS_PPS: u16 = 0x0001;
const NO_UDP_FIN: u16 = 0x0008;
const TRIP_TIME: u16 = 0x0010;
const REVERSE: u16 = 0x0400;
const FULL_DUPLEX: u16 = 0x0800;

/// The header of 2.0.x, bytes.
pub(super) const BASE: usize = 24;
/// The header with the extension of 2.1, bytes.
const EXTENDED_21: usize = 60;
/// The additional length of a header with trip times, bytes (2.1).
const START: usize = 20;
/// In datagrams of 2.1, room for isochronous payload and start times follows, bytes.
const UDP_ROOM: usize = 84;
/// Maximum length of a key, bytes.
pub const MAX_KEY_BYTES: usize = 128;
/// The field with the length of a key, bytes.
const KEY_LENGTH_BYTES: usize = 2;

/// The version that this program announces: its headers have the layout of 2.1.8.
pub const VERSION: (u32, u32) = (0x0002_0001, 0x0008_0003);

/// The directions in which payload is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestMode {
    /// From the client.
    Up,
    /// From the server, on the client's connection (2.1).
    Reverse,
    /// Both at once on the client's connection (2.1).
    FullDuplex,
    /// Both at once; the server connects back (`-d`).
    Dual,
    /// One after the other; the server connects back (`-r`).
    Tradeoff,
}

/// The amount to be transferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestAmount {
    /// By time, hundredths of a second.
    Hundredths(u32),
    /// By payload, bytes.
    Bytes(u32),
}

/// The layout of a header's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExtensionLayout {
    /// 2.0.10 to 2.0.13: its length is fixed. Such a client awaits an answer, over UDP as well.
    Fixed,
    /// Since 2.1: the header announces its length.
    #[default]
    Announced,
}

/// The extension of a header: version, rate, and what 2.1 added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeaderExtension {
    /// The layout.
    pub layout: ExtensionLayout,
    /// The client's version: 0x0002_0001 is 2.1; the second word holds the patch level.
    pub version: (u32, u32),
    /// The TOS byte to send with.
    pub tos: u16,
    /// The rate to send at, bit/s; 0 for none.
    pub rate: u64,
    /// `true` when the end of a UDP test is not to be announced.
    pub no_udp_fin: bool,
    /// `true` when one-way times are measured.
    pub trip_times: bool,
}

/// A client's request for a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestHeader {
    /// The directions of payload.
    pub mode: TestMode,
    /// Connections of this client that belong together.
    pub threads: u32,
    /// The client's port for tests that connect back.
    pub port: u32,
    /// Bytes in a block or datagram; 0 for the default.
    pub length: u32,
    /// The window (TCP), or in 2.0.x the rate in bit/s (UDP); 0 for the default.
    pub window_or_rate: u32,
    /// The amount to be transferred.
    pub amount: TestAmount,
    /// `true` when the ids of datagrams have 64 bits.
    pub wide_ids: bool,
    /// `true` when the client waits for an answer (`-X`).
    pub detect: bool,
    /// The extension, where there is one.
    pub extended: Option<HeaderExtension>,
}

/// The reason why a header is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Its length is less than that of its own fields.
    #[error("its test header says it is {0} bytes long, which holds less than its fields")]
    Short(usize),
    /// The key is empty or too long.
    #[error("its test header announces a key of {0} bytes; 1 to {MAX_KEY_BYTES} can be")]
    Key(usize),
}

/// The meaning of the first bytes of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TcpOpening {
    /// The number of bytes that are needed to decide.
    Needs(usize),
    /// No header: payload from the first byte.
    Payload,
    /// A header, and its length in bytes with the key.
    Test(TestHeader, usize),
    /// Requests that are to be sent back.
    Bounceback,
}

impl TcpOpening {
    /// Reads the first bytes of a connection, as many as there are.
    ///
    /// # Errors
    /// When they are a header whose lengths are invalid.
    pub fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let Some(flags) = word(bytes, 0) else {
            return Ok(Self::Needs(4));
        };
        if flags == PATTERN_0 || flags & !KNOWN != 0 {
            return Ok(Self::Payload);
        }
        if flags & (VERSION1 | EXTEND | VERSION2) == 0 {
            if flags == BOUNCEBACK_FLAG {
                return Ok(Self::Bounceback);
            }
            if flags != 0 {
                return Ok(Self::Payload);
            }
            // 2.0.5 announces its threads and its port even where it requests nothing; zeros are payload.
            return Ok(match (word(bytes, 4), word(bytes, 8)) {
                (Some(threads), Some(port)) if !(1..=4096).contains(&threads) || port > 65_535 => {
                    Self::Payload
                }
                _ => match TestHeader::decode(bytes) {
                    Some(header) => Self::Test(header, BASE),
                    None => Self::Needs(BASE),
                },
            });
        }
        if flags & LENGTH_BIT == 0 && flags & 0xfffe != 0 {
            // Only a length explains these bits.
            return Ok(Self::Payload);
        }
        let length = length_of(flags);
        let fields = if flags & EXTEND != 0 || flags & VERSION2 != 0 && flags & LENGTH_BIT != 0 {
            EXTENDED_21
        } else {
            BASE
        };
        if length < fields {
            return Err(HeaderError::Short(length));
        }
        let mut whole = length;
        if flags & KEY_CHECK != 0 {
            // The last field is the length of the key, which follows.
            let Some(at) = length
                .checked_sub(KEY_LENGTH_BYTES)
                .filter(|at| *at >= fields)
            else {
                return Err(HeaderError::Short(length));
            };
            let Some(key) = half(bytes, at) else {
                return Ok(Self::Needs(length));
            };
            let key = usize::from(key);
            if key == 0 || key > MAX_KEY_BYTES {
                return Err(HeaderError::Key(key));
            }
            whole = whole.saturating_add(key);
        }
        if bytes.len() < whole {
            return Ok(Self::Needs(whole));
        }
        Ok(match TestHeader::decode(bytes) {
            Some(header) => Self::Test(header, whole),
            None => Self::Needs(whole),
        })
    }
}

/// The key of a header with which a client asks to be permitted; `None` where it has none.
#[must_use]
pub fn permit_key(header: &[u8]) -> Option<&[u8]> {
    let flags = word(header, 0)?;
    if flags & KEY_CHECK == 0 {
        return None;
    }
    let at = length_of(flags);
    let length = half(header, at.checked_sub(KEY_LENGTH_BYTES)?)?;
    header.get(at..at.saturating_add(usize::from(length)))
}

/// Adds a key to an encoded header with the extension of 2.1; one that is too long, or a header without that, stays as it is.
pub fn add_permit_key(header: &mut Vec<u8>, key: &str) {
    let Some(flags) = word(header, 0).filter(|flags| flags & LENGTH_BIT != 0) else {
        return;
    };
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return;
    }
    let length = header.len().saturating_add(KEY_LENGTH_BYTES);
    let flags = flags & !LENGTH_MASK | KEY_CHECK | ((length as u32) << 1 & LENGTH_MASK);
    put(header, 0, flags);
    header.extend((key.len() as u16).to_be_bytes());
    header.extend(key.as_bytes());
}

fn length_of(flags: u32) -> usize {
    if flags & LENGTH_BIT != 0 {
        ((flags & LENGTH_MASK) >> 1) as usize
    } else if flags & EXTEND != 0 {
        EXTENDED_21
    } else {
        BASE
    }
}

/// `true` when a word can be the flags of a header that requests something.
pub(super) const fn are_flags(word: u32) -> bool {
    word & !KNOWN == 0
        && word & (VERSION1 | EXTEND | VERSION2 | WIDE_IDS) != 0
        && (word & LENGTH_BIT != 0 || word & 0xfffe == 0)
}

/// `true` when a word can be the flags of a header of 2.0.5.
pub(super) const fn are_old_flags(word: u32) -> bool {
    word & !(VERSION1 | RUN_NOW) == 0
}

impl TestHeader {
    /// Reads a header; `None` when bytes are missing.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let flags = word(bytes, 0)?;
        if flags & (VERSION1 | EXTEND | VERSION2) == 0 && flags != 0 {
            // 2.0.13 writes the flags alone; what follows is payload.
            return Some(Self::plain(flags));
        }
        let layout = layout_of(flags);
        if flags & EXTEND != 0 && flags & VERSION1 == 0 && layout == ExtensionLayout::Fixed {
            // Only the extension is written; the fields before it are payload.
            return Some(Self {
                extended: decode_fixed(bytes, 0),
                ..Self::plain(flags)
            });
        }
        let threads = word(bytes, 4)?;
        // With a transfer id (2.2) only the low bits count threads.
        let threads = if threads & 0x8000_0000 != 0 {
            threads & 0xf_ffff
        } else {
            threads
        };
        let amount = word(bytes, 20)?;
        let length = word(bytes, 12)?;
        let extended = match layout {
            _ if flags & (EXTEND | VERSION2) == 0 => None,
            ExtensionLayout::Fixed => decode_fixed(bytes, length).map(|extended| (extended, 0)),
            ExtensionLayout::Announced => decode_extended(bytes),
        };
        let upper = extended.map_or(0, |(_, upper)| upper);
        let mode = if flags & VERSION2 != 0 && upper & FULL_DUPLEX != 0 {
            TestMode::FullDuplex
        } else if flags & VERSION2 != 0 && upper & REVERSE != 0 {
            TestMode::Reverse
        } else if flags & VERSION1 == 0 {
            TestMode::Up
        } else if flags & RUN_NOW != 0 {
            TestMode::Dual
        } else {
            TestMode::Tradeoff
        };
        Some(Self {
            mode,
            threads,
            port: word(bytes, 8)?,
            length,
            window_or_rate: word(bytes, 16)?,
            amount: if amount & 0x8000_0000 != 0 {
                TestAmount::Hundredths(amount.wrapping_neg())
            } else {
                TestAmount::Bytes(amount)
            },
            wide_ids: flags & WIDE_IDS != 0,
            detect: flags & PEER_DETECT != 0,
            extended: extended.map(|(extended, _)| extended),
        })
    }

    /// The header of an upload of which only the flags are known.
    const fn plain(flags: u32) -> Self {
        Self {
            mode: TestMode::Up,
            threads: 1,
            port: PORT as u32,
            length: 0,
            window_or_rate: 0,
            amount: TestAmount::Bytes(0),
            wide_ids: flags & WIDE_IDS != 0,
            detect: false,
            extended: None,
        }
    }

    /// `true` when a server answers this header (TCP): on request, and to all of 2.1 but reverse and full-duplex tests.
    #[must_use]
    pub const fn is_answered(&self) -> bool {
        self.detect
            || self.extended.is_some()
                && !matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex)
    }

    /// `true` when a server answers this header over UDP, with the datagram that it sends over TCP (2.0.10 to 2.0.13).
    #[must_use]
    pub fn is_answered_over_udp(&self) -> bool {
        self.extended
            .is_some_and(|extended| extended.layout == ExtensionLayout::Fixed)
    }

    /// The header in front of a TCP connection's payload, in the layout of 2.1; `now` in seconds and
    /// microseconds, where trip times are measured.
    #[must_use]
    pub fn encode_tcp(&self, now: (u32, u32)) -> Vec<u8> {
        let trip_times = self.extended.is_some_and(|extended| extended.trip_times);
        let length = match self.extended {
            None => BASE,
            Some(_) if trip_times => EXTENDED_21 + START,
            Some(_) => EXTENDED_21,
        };
        let mut bytes = vec![0; length];
        self.write(&mut bytes, 0, length, 0);
        if trip_times {
            put(&mut bytes, EXTENDED_21 + 4, now.0);
            put(&mut bytes, EXTENDED_21 + 8, now.1);
        }
        bytes
    }

    /// The header of every datagram after the datagram's own 16 bytes, in the layout of 2.1, with the room
    /// that 2.1 leaves for isochronous payload and start times; `now` as for TCP.
    #[must_use]
    pub fn encode_udp(&self, now: (u32, u32)) -> Vec<u8> {
        let Some(extended) = self.extended else {
            let mut bytes = vec![0; BASE];
            self.write(&mut bytes, 0, BASE, 0);
            return bytes;
        };
        let per_packet = extended.trip_times
            || extended.no_udp_fin && matches!(self.mode, TestMode::Up)
            || matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex);
        let mut flags = WIDE_IDS;
        if per_packet {
            flags |= UDP_TESTS;
        }
        let announced = match extended.trip_times {
            true => const { 16 + EXTENDED_21 + 32 },
            false => const { 16 + EXTENDED_21 },
        };
        let mut bytes = vec![0; EXTENDED_21 + UDP_ROOM];
        self.write(&mut bytes, flags, announced, 0);
        if extended.trip_times {
            put(&mut bytes, 112 - 16, now.0);
            put(&mut bytes, 116 - 16, now.1);
        }
        bytes
    }

    fn write(&self, bytes: &mut [u8], mut flags: u32, length: usize, upper: u16) {
        let mut upper = upper;
        match self.mode {
            TestMode::Up => {}
            TestMode::Reverse => {
                flags |= VERSION2;
                upper |= REVERSE;
            }
            TestMode::FullDuplex => {
                flags |= VERSION2;
                upper |= FULL_DUPLEX;
            }
            TestMode::Dual => flags |= VERSION1 | RUN_NOW,
            TestMode::Tradeoff => flags |= VERSION1,
        }
        if self.detect {
            flags |= VERSION2 | PEER_DETECT;
        }
        if let Some(extended) = self.extended {
            flags |= EXTEND | LENGTH_BIT | ((length as u32) << 1 & LENGTH_MASK);
            if extended.no_udp_fin {
                upper |= NO_UDP_FIN;
            }
            if extended.trip_times {
                upper |= TRIP_TIME;
            }
            put_half(bytes, 32, upper);
            put(bytes, 36, extended.version.0);
            put(bytes, 40, extended.version.1);
            put_half(bytes, 46, extended.tos);
            put(bytes, 48, extended.rate as u32);
            put(bytes, 52, ((extended.rate >> 32) as u32) << 8);
        }
        put(bytes, 0, flags);
        put(bytes, 4, self.threads);
        put(bytes, 8, self.port);
        put(bytes, 12, self.length);
        put(bytes, 16, self.window_or_rate);
        put(
            bytes,
            20,
            match self.amount {
                TestAmount::Hundredths(time) => time.min(0x7fff_ffff).wrapping_neg(),
                TestAmount::Bytes(bytes) => bytes & 0x7fff_ffff,
            },
        );
    }
}

/// The layout of the extension that flags announce.
const fn layout_of(flags: u32) -> ExtensionLayout {
    if flags & (LENGTH_BIT | VERSION2) == 0 {
        ExtensionLayout::Fixed
    } else {
        ExtensionLayout::Announced
    }
}

/// Reads an extension of 2.0.10 to 2.0.13, of a test with blocks or datagrams of `length` bytes.
fn decode_fixed(bytes: &[u8], length: u32) -> Option<HeaderExtension> {
    let rate = u64::from(word(bytes, 48)?);
    Some(HeaderExtension {
        layout: ExtensionLayout::Fixed,
        version: (word(bytes, 36)?, word(bytes, 40)?),
        rate: match half(bytes, 34)? & UNITS_PPS {
            0 => rate,
            _ => rate.saturating_mul(u64::from(length) * 8),
        },
        ..HeaderExtension::default()
    })
}

fn decode_extended(bytes: &[u8]) -> Option<(HeaderExtension, u16)> {
    let upper = half(bytes, 32)?;
    let rate_high = word(bytes, 52)?;
    word(bytes, 56)?;
    Some((
        HeaderExtension {
            layout: ExtensionLayout::Announced,
            version: (word(bytes, 36)?, word(bytes, 40)?),
            tos: half(bytes, 46)?,
            rate: u64::from(rate_high >> 8) << 32 | u64::from(word(bytes, 48)?),
            no_udp_fin: upper & NO_UDP_FIN != 0,
            trip_times: upper & TRIP_TIME != 0,
        },
        upper,
    ))
}

impl HeaderExtension {
    /// The client's version as text, such as `2.1.8`; `None` where it sends none.
    #[must_use]
    pub fn version_text(&self) -> Option<String> {
        let (upper, lower) = self.version;
        (upper != 0).then(|| format!("{}.{}.{}", upper >> 16, upper & 0xffff, lower >> 16))
    }
}
