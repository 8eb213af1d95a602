//! The header of TCP and its options (RFC 9293 section 3.1).

use crate::bytes::{be16, be32};

/// The flags of a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpFlags(pub(crate) u16);

impl TcpFlags {
    pub(crate) const FIN: u16 = 1;
    pub(crate) const SYN: u16 = 2;
    pub(crate) const RST: u16 = 4;
    pub(crate) const PSH: u16 = 8;
    pub(crate) const ACK: u16 = 16;
    pub(crate) const ECE: u16 = 64;
    pub(crate) const CWR: u16 = 128;
    const NAMES: [(&'static str, u16); 9] = [
        ("FIN", 1),
        ("SYN", 2),
        ("RST", 4),
        ("PSH", 8),
        ("ACK", 16),
        ("URG", 32),
        ("ECE", 64),
        ("CWR", 128),
        ("AE", 256),
    ];

    /// `true` when any of these is set.
    #[inline]
    pub(crate) const fn any(self, of: u16) -> bool {
        self.0 & of != 0
    }

    /// The names of those set, as Wireshark joins them: `PSH, ACK`.
    pub(crate) fn names(self) -> String {
        let set = Self::NAMES.iter().filter(|(_, bit)| self.any(*bit));
        set.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

/// The header of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TcpHeader {
    pub(crate) source: u16,
    pub(crate) destination: u16,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: TcpFlags,
    pub(crate) window: u16,
    pub(crate) checksum: u16,
    /// With options.
    pub(crate) header_bytes: u32,
    pub(crate) options: TcpOptionValues,
}

/// The options of a segment, as far as they matter here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TcpOptionValues {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) fast_open: bool,
    pub(crate) multipath: bool,
    /// TSval and TSecr.
    pub(crate) timestamps: Option<(u32, u32)>,
    /// SACK blocks: the first `sack_count` of them.
    pub(crate) sack: [(u32, u32); 4],
    pub(crate) sack_count: u8,
}

/// Why a segment cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TcpFault {
    CutOff,
    Malformed,
}

/// NOP, NOP, Timestamps, 10: the options of nearly every segment between Linux hosts.
const ONLY_TIMESTAMPS: u32 = 0x0101_080a;

/// Reads the header of a segment of `original` bytes, of which `bytes` were kept.
#[inline]
pub(crate) fn read_tcp(bytes: &[u8], original: u32) -> Result<TcpHeader, TcpFault> {
    let Some(fixed) = bytes.first_chunk::<20>() else {
        return Err(if original < 20 {
            TcpFault::Malformed
        } else {
            TcpFault::CutOff
        });
    };
    let word = be16(fixed, 12);
    let header_bytes = u32::from(word >> 12) * 4;
    if header_bytes < 20 || header_bytes > original {
        return Err(TcpFault::Malformed);
    }
    let Some(option_bytes) = bytes.get(20..header_bytes as usize) else {
        return Err(TcpFault::CutOff);
    };
    let options = if option_bytes.len() == 12 && be32(option_bytes, 0) == ONLY_TIMESTAMPS {
        TcpOptionValues {
            timestamps: Some((be32(option_bytes, 4), be32(option_bytes, 8))),
            ..TcpOptionValues::default()
        }
    } else {
        read_options(option_bytes)
    };
    Ok(TcpHeader {
        source: be16(fixed, 0),
        destination: be16(fixed, 2),
        seq: be32(fixed, 4),
        ack: be32(fixed, 8),
        flags: TcpFlags(word & 0x1ff),
        window: be16(fixed, 14),
        checksum: be16(fixed, 16),
        header_bytes,
        options,
    })
}

/// Reads options; the first that makes no sense ends them.
fn read_options(mut bytes: &[u8]) -> TcpOptionValues {
    let mut options = TcpOptionValues::default();
    while let Some((&kind, rest)) = bytes.split_first() {
        match kind {
            0 => break,
            1 => {
                bytes = rest;
                continue;
            }
            _ => {}
        }
        let Some(length) = rest.first().map(|length| usize::from(*length)) else {
            break;
        };
        if length < 2 || length > bytes.len() {
            break;
        }
        let (option, next) = bytes.split_at(length);
        read_option(&mut options, kind, &option[2..]);
        bytes = next;
    }
    options
}

fn read_option(options: &mut TcpOptionValues, kind: u8, value: &[u8]) {
    match (kind, value.len()) {
        (2, 2) => options.mss = Some(be16(value, 0)),
        // RFC 7323 section 2.3: larger shifts count as 14.
        (3, 1) => options.window_scale = Some(value[0].min(14)),
        (4, 0) => options.sack_permitted = true,
        (5, _) => {
            for block in value.chunks_exact(8).take(4) {
                options.sack[usize::from(options.sack_count & 3)] =
                    (be32(block, 0), be32(block, 4));
                options.sack_count = (options.sack_count + 1).min(4);
            }
        }
        (8, 8) => options.timestamps = Some((be32(value, 0), be32(value, 4))),
        (30, _) => options.multipath = true,
        (34, _) => options.fast_open = true,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_syn_are_read() {
        let options = read_options(&[
            2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7,
        ]);
        assert_eq!(options.mss, Some(1460));
        assert!(options.sack_permitted);
        assert_eq!(options.timestamps, Some((7, 0)));
        assert_eq!(options.window_scale, Some(7));
    }

    #[test]
    fn an_option_longer_than_the_header_ends_them() {
        assert_eq!(read_options(&[2, 40, 5]), TcpOptionValues::default());
        assert_eq!(read_options(&[8, 0, 5]), TcpOptionValues::default());
    }

    #[test]
    fn five_sack_blocks_cannot_be() {
        let mut bytes = vec![5, 42];
        bytes.extend([0; 40]);
        assert_eq!(read_options(&bytes).sack_count, 4);
    }

    #[test]
    fn flags_are_named_as_wireshark_does() {
        assert_eq!(TcpFlags(0x18).names(), "PSH, ACK");
        assert_eq!(TcpFlags(0x11).names(), "FIN, ACK");
    }
}
