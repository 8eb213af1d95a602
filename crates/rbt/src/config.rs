//! What both ends of a session hold after the handshake.

use crate::error::TransferError;

/// Bytes of the header in front of the payload of a data datagram.
pub const DATA_HEADER_BYTES: usize = 20;
/// Maximum payload of a datagram: what fits behind the headers of RBT, UDP and IPv4 in 65 535 bytes.
pub const MAX_PAYLOAD_BYTES: u32 = 65_487;
/// Maximum number of blocks of a session: the field of a data header has 32 bits.
pub const MAX_BLOCKS: u64 = 1 << 32;
/// Maximum number of blocks in the receiver's window, however small they are.
pub const MAX_WINDOW_BLOCKS: u64 = 1 << 17;
/// Maximum size of a content, and of its resume offset.
pub const MAX_CONTENT_BYTES: u64 = 1 << 62;
/// Maximum of [`TransferConfig::window_bytes`].
pub const MAX_WINDOW_BYTES: u64 = 1 << 30;
/// Maximum of [`TransferConfig::first_pn`].
pub const MAX_FIRST_PN: u64 = 1 << 62;

/// The way lost blocks are repeated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Arq {
    /// Selective acknowledgement of packet numbers, loss detection as RFC 9002 has it.
    #[default]
    Sack,
    /// The receiver asks for the blocks it lacks, in a bitmap.
    NakBitmap,
    /// The receiver accepts blocks in order only; everything from the first lost block on is repeated.
    GoBackN,
    /// One datagram at a time.
    StopAndWait,
}

/// What both ends hold after the handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferConfig {
    /// The number of the session: every datagram carries it.
    pub session: u32,
    /// Payload bytes of every data datagram but the last, 1 to [`MAX_PAYLOAD_BYTES`].
    pub packet_bytes: u32,
    /// The size of the whole content; `None` when it is known at its end only.
    pub total_bytes: Option<u64>,
    /// Bytes at the beginning that the receiver already has: the first block begins here.
    pub start_bytes: u64,
    /// The way lost blocks are repeated.
    pub arq: Arq,
    /// The receiver's reassembly window.
    pub window_bytes: u64,
    /// The granularity of the timers of loss detection (kGranularity of RFC 9002).
    pub granularity_ns: u64,
    /// The receiver acknowledges at least every so many packets.
    pub ack_packets: u32,
    /// The maximum time a receiver holds an acknowledgement back.
    pub max_ack_delay_ns: u64,
    /// The number of the first packet.
    pub first_pn: u64,
    /// The seed of the numbers that are skipped.
    pub seed: u64,
}

impl Default for TransferConfig {
    fn default() -> Self {
        Self {
            session: 0,
            packet_bytes: 1400,
            total_bytes: None,
            start_bytes: 0,
            arq: Arq::Sack,
            window_bytes: 16 << 20,
            granularity_ns: 1_000_000,
            ack_packets: 64,
            max_ack_delay_ns: 25_000_000,
            first_pn: 0,
            seed: 0,
        }
    }
}

impl TransferConfig {
    /// Whether every field is within its limits.
    ///
    /// # Errors
    ///
    /// [`TransferError::Config`] names the first field that is not.
    pub fn check(&self) -> Result<(), TransferError> {
        let fault = if self.packet_bytes == 0 || self.packet_bytes > MAX_PAYLOAD_BYTES {
            "packet_bytes"
        } else if self.window_bytes > MAX_WINDOW_BYTES {
            "window_bytes"
        } else if self.start_bytes > MAX_CONTENT_BYTES
            || self
                .total_bytes
                .is_some_and(|total| total < self.start_bytes)
        {
            "start_bytes"
        } else if self
            .total_bytes
            .is_some_and(|total| !self.can_number(total))
        {
            "total_bytes"
        } else if self.first_pn > MAX_FIRST_PN {
            "first_pn"
        } else {
            return Ok(());
        };
        Err(TransferError::Config(fault))
    }

    /// These terms; or, for an end that fails at once, those of nothing when a field is outside its limits, and the error that names it.
    pub(crate) fn checked(&self) -> (Self, Option<TransferError>) {
        match self.check() {
            Ok(()) => (self.clone(), None),
            Err(error) => {
                let nothing = Self {
                    session: self.session,
                    total_bytes: Some(0),
                    ..Self::default()
                };
                (nothing, Some(error))
            }
        }
    }

    /// Whether the blocks of a content of `total` bytes have numbers.
    pub(crate) fn can_number(&self, total: u64) -> bool {
        total <= MAX_CONTENT_BYTES && self.blocks_up_to(total) <= MAX_BLOCKS
    }

    /// The payload of a block.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        u64::from(self.packet_bytes.clamp(1, MAX_PAYLOAD_BYTES))
    }

    /// The blocks that the receiver's window holds, at least one.
    #[must_use]
    pub fn window_blocks(&self) -> u64 {
        (self.window_bytes.min(MAX_WINDOW_BYTES) / self.block_bytes()).clamp(1, MAX_WINDOW_BLOCKS)
    }

    /// The blocks of the content behind the resume offset; `None` while its size is unknown.
    #[must_use]
    pub fn content_blocks(&self) -> Option<u64> {
        self.total_bytes.map(|total| self.blocks_up_to(total))
    }

    /// The blocks from the resume offset to the end of a content of `total` bytes.
    #[must_use]
    pub fn blocks_up_to(&self, total: u64) -> u64 {
        total
            .saturating_sub(self.start_bytes)
            .div_ceil(self.block_bytes())
    }
}

/// The bytes of datagrams, headers of RBT included, that the receiver's socket buffer can hold at this packet size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketBudget(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_within_its_limits_and_each_field_beyond_them_is_named() {
        let good = TransferConfig::default();
        assert_eq!(good.check(), Ok(()));
        let cases = [
            (
                TransferConfig {
                    packet_bytes: 0,
                    ..good.clone()
                },
                "packet_bytes",
            ),
            (
                TransferConfig {
                    packet_bytes: 65_488,
                    ..good.clone()
                },
                "packet_bytes",
            ),
            (
                TransferConfig {
                    window_bytes: u64::MAX,
                    ..good.clone()
                },
                "window_bytes",
            ),
            (
                TransferConfig {
                    total_bytes: Some(1),
                    start_bytes: 2,
                    ..good.clone()
                },
                "start_bytes",
            ),
            (
                TransferConfig {
                    total_bytes: Some(u64::MAX),
                    ..good.clone()
                },
                "total_bytes",
            ),
            (
                TransferConfig {
                    start_bytes: u64::MAX,
                    ..good.clone()
                },
                "start_bytes",
            ),
            (
                TransferConfig {
                    first_pn: u64::MAX,
                    ..good.clone()
                },
                "first_pn",
            ),
        ];
        for (config, field) in cases {
            assert_eq!(config.check(), Err(TransferError::Config(field)));
        }
    }

    #[test]
    fn a_window_holds_at_least_one_block_and_a_bounded_number() {
        let small = TransferConfig {
            window_bytes: 0,
            ..TransferConfig::default()
        };
        assert_eq!(small.window_blocks(), 1);
        let tiny = TransferConfig {
            packet_bytes: 1,
            ..TransferConfig::default()
        };
        assert_eq!(tiny.window_blocks(), MAX_WINDOW_BLOCKS);
    }
}
