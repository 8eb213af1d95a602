//! A server's report at the end of a UDP test, in the layout of the client.

use super::datagram::{HeaderLayout, write_datagram_header};
use super::field::{put, word};

/// The one-way times that follow the counts of a report; every client since 2.0.8 takes a shorter report for none, bytes.
const TRANSIT: usize = 60;
/// The counts of a report, bytes.
const BASE: usize = 40;
/// The whole report since 2.0.13, whose upper halves of counts are at its end, bytes.
const EXTENDED: usize = BASE + TRANSIT + 12;
const PRESENT: u32 = 0x8000_0000;
const EXTENSION: u32 = 0x4000_0000;
const WIDE: u32 = 0x0800_0000;

/// One-way times as measured by a server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TransitReport {
    /// Their minimum, s.
    pub min_s: f64,
    /// Their maximum, s.
    pub max_s: f64,
    /// Their sum, s.
    pub sum_s: f64,
    /// Their mean, s.
    pub mean_s: f64,
    /// The sum of squared differences from the mean, s².
    pub m2: f64,
    /// Their number.
    pub count: u32,
    /// The number of gaps between datagrams.
    pub gaps: u32,
    /// The sum of the gaps, s; whole seconds on the wire.
    pub gap_sum_s: f64,
}

/// A server's report.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServerReport {
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// The duration of the flow, seconds and microseconds.
    pub duration: (u32, u32),
    /// Datagrams that did not arrive.
    pub lost: u64,
    /// Datagrams that arrived after a later one.
    pub out_of_order: u64,
    /// Datagrams in all: the last number.
    pub datagrams: u64,
    /// Jitter, µs.
    pub jitter_us: u64,
    /// One-way times (2.1).
    pub transit: Option<TransitReport>,
}

fn split(seconds: f64) -> (u32, u32) {
    let negative = seconds < 0.0;
    let micros = (seconds.abs() * 1e6).round().min(2e15) as u64;
    let (whole, part) = ((micros / 1_000_000) as u32, (micros % 1_000_000) as u32);
    if negative {
        (whole.wrapping_neg(), part.wrapping_neg())
    } else {
        (whole, part)
    }
}

fn join(bytes: &[u8], at: usize) -> Option<f64> {
    let part = at.saturating_add(4);
    let (whole, part) = (word(bytes, at)? as i32, word(bytes, part)? as i32);
    Some(f64::from(whole) + f64::from(part) / 1e6)
}

impl ServerReport {
    /// The last datagram a server sends, in the layout of its client.
    #[must_use]
    pub fn encode(&self, layout: HeaderLayout) -> Vec<u8> {
        let at = layout.header();
        let length = match layout {
            HeaderLayout::Twelve => const { BASE + TRANSIT },
            HeaderLayout::SixteenOld => const { BASE + 4 + TRANSIT },
            HeaderLayout::Sixteen => EXTENDED,
        };
        let length = length.saturating_add(at);
        let transit = self.transit;
        let extension = match transit {
            // The layout of 2.0.5 to 2.0.9 has no flag for the times: they are always there.
            Some(_) if layout != HeaderLayout::Twelve => EXTENSION,
            _ => 0,
        };
        let mut bytes = vec![0; length];
        write_datagram_header(&mut bytes, layout, 0, (0, 0));
        let room = bytes.get_mut(at..).unwrap_or_default();
        put(
            room,
            0,
            match layout {
                HeaderLayout::Twelve | HeaderLayout::SixteenOld => PRESENT | extension,
                HeaderLayout::Sixteen => PRESENT | WIDE | extension,
            },
        );
        put(room, 4, (self.bytes >> 32) as u32);
        put(room, 8, self.bytes as u32);
        put(room, 12, self.duration.0);
        put(room, 16, self.duration.1);
        put(room, 20, self.lost as u32);
        put(room, 24, self.out_of_order as u32);
        put(room, 28, self.datagrams as u32);
        let jitter = if layout == HeaderLayout::SixteenOld {
            // The upper 32 bits of the count precede the jitter, in these versions only.
            put(room, 32, (self.datagrams >> 32) as u32);
            36
        } else {
            32
        };
        put(room, jitter, (self.jitter_us / 1_000_000) as u32);
        put(
            room,
            jitter.saturating_add(4),
            (self.jitter_us % 1_000_000) as u32,
        );
        let times = jitter.saturating_add(8);
        let behind = |bytes: usize| times.saturating_add(bytes);
        if let Some(transit) = transit {
            for (at, value) in [
                (0, transit.min_s),
                (8, transit.max_s),
                (16, transit.sum_s),
                (24, transit.mean_s),
                // In squared microseconds, because it would be rounded to 0 otherwise.
                (32, transit.m2 * 1e12),
            ] {
                let (whole, part) = split(value);
                put(room, behind(at), whole);
                put(room, behind(at).saturating_add(4), part);
            }
            put(room, behind(48), transit.count);
            put(room, behind(52), transit.gaps);
            put(room, behind(56), transit.gap_sum_s.max(0.0) as u32);
        }
        if layout == HeaderLayout::Sixteen {
            put(room, 100, (self.lost >> 32) as u32);
            put(room, 104, (self.out_of_order >> 32) as u32);
            put(room, 108, (self.datagrams >> 32) as u32);
        }
        bytes
    }

    /// Reads a server's report of any version; `None` when the bytes are not one.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        // The report can only begin where the flags are known ones.
        let known = |at: usize| {
            word(bytes, at)
                .filter(|flags| flags & PRESENT != 0 && flags & !(PRESENT | EXTENSION | WIDE) == 0)
        };
        let (at, flags) = known(16)
            .map(|flags| (16, flags))
            .or_else(|| known(12).map(|flags| (12, flags)))?;
        let room = bytes.get(at..).unwrap_or_default();
        let low = |at: usize| word(room, at).map(u64::from);
        // 2.0.10 to 2.0.12 put the upper half of the number of datagrams before the jitter.
        let is_old = at == 16 && flags & WIDE == 0;
        let jitter: usize = if is_old { 36 } else { 32 };
        let times = jitter.saturating_add(8);
        let behind = |bytes: usize| times.saturating_add(bytes);
        let has_transit = flags & EXTENSION != 0 && room.len() >= behind(TRANSIT);
        let has_high = flags & WIDE != 0 && room.len() >= EXTENDED;
        let high = |at: usize| {
            if has_high {
                low(at).unwrap_or(0) << 32
            } else {
                0
            }
        };
        let report = Self {
            bytes: low(4)? << 32 | low(8)?,
            duration: (word(room, 12)?, word(room, 16)?),
            lost: high(100) | low(20)?,
            out_of_order: high(104) | low(24)?,
            datagrams: if is_old { low(32)? << 32 } else { high(108) } | low(28)?,
            jitter_us: low(jitter)?
                .saturating_mul(1_000_000)
                .saturating_add(low(jitter.saturating_add(4))?),
            transit: if has_transit {
                Some(TransitReport {
                    min_s: join(room, times)?,
                    max_s: join(room, behind(8))?,
                    sum_s: join(room, behind(16))?,
                    mean_s: join(room, behind(24))?,
                    m2: join(room, behind(32))? / 1e12,
                    count: word(room, behind(48))?,
                    gaps: word(room, behind(52))?,
                    gap_sum_s: f64::from(word(room, behind(56))?),
                })
            } else {
                None
            },
        };
        Some(report)
    }
}
