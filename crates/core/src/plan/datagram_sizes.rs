//! The sizes of a flow's datagrams.

use super::limits::MIN_DATAGRAM;

/// The sizes of a UDP flow's datagrams: all of one length, except where an exact number of bytes needs a
/// shorter last one, or two so that the last still has room for its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramSizes {
    length: u32,
    datagrams: Option<u64>,
    last_but_one: u32,
    last: u32,
}

impl DatagramSizes {
    /// Datagrams of `length` bytes that carry `bytes` in total; an endless sequence when that is `None`.
    ///
    /// Exact for lengths of 64 bytes and more; shorter ones are rounded up where the rest has no room
    /// for a header.
    #[must_use]
    pub fn new(length: u32, bytes: Option<u64>) -> Self {
        let whole = u64::from(length.max(1));
        let datagrams = bytes.map(|bytes| bytes.div_ceil(whole));
        let rest = match (bytes, datagrams) {
            (Some(bytes), Some(datagrams)) if datagrams > 0 => {
                (bytes - (datagrams - 1) * whole) as u32
            }
            _ => length,
        };
        let missing = MIN_DATAGRAM.saturating_sub(rest);
        let shares = datagrams > Some(1) && length >= MIN_DATAGRAM + missing;
        Self {
            length,
            datagrams,
            last_but_one: if shares { length - missing } else { length },
            last: rest.max(MIN_DATAGRAM.min(length)),
        }
    }

    /// A number of whole datagrams of `length` bytes; an endless sequence when that is `None`.
    #[must_use]
    pub const fn whole(length: u32, datagrams: Option<u64>) -> Self {
        Self {
            length,
            datagrams,
            last_but_one: length,
            last: length,
        }
    }

    /// Datagrams of `length` bytes that carry `bytes` in total, of which only the last may be shorter, but no shorter than
    /// `min_last`.
    #[must_use]
    pub fn with_short_last(length: u32, bytes: u64, min_last: u32) -> Self {
        let whole = u64::from(length.max(1));
        let datagrams = bytes.div_ceil(whole);
        let rest = (bytes - datagrams.saturating_sub(1) * whole) as u32;
        Self {
            last: rest.max(min_last).min(length),
            ..Self::whole(length, Some(datagrams))
        }
    }

    /// The number of datagrams; `None` for an endless sequence.
    #[must_use]
    pub const fn datagrams(&self) -> Option<u64> {
        self.datagrams
    }

    /// The payload bytes of the datagram with this sequence number.
    #[must_use]
    #[inline]
    pub const fn length_of(&self, sequence: u64) -> u32 {
        match self.datagrams {
            Some(all) if sequence.saturating_add(1) == all => self.last,
            Some(all) if sequence.saturating_add(2) == all => self.last_but_one,
            _ => self.length,
        }
    }

    /// The number of datagrams from `sequence` on, up to `max`, that fit one segmentation-offload batch: only
    /// the last of a batch may be shorter than the others.
    #[must_use]
    pub fn batch(&self, sequence: u64, max: u64) -> u64 {
        let Some(all) = self.datagrams else {
            return max;
        };
        let max = max.min(all.saturating_sub(sequence));
        // The last datagram but one, when it is shorter, ends a batch.
        let short = if self.last_but_one < self.length {
            all.saturating_sub(1)
        } else {
            all
        };
        if sequence < short {
            max.min(short - sequence)
        } else {
            max
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_carry_the_bytes_asked_for_to_the_last_one() {
        for (length, bytes) in [
            (1448, 100_000),
            (1000, 33_334),
            (1000, 1001),
            (1000, 1031),
            (64, 65),
            (100, 32),
            (1000, 2000),
        ] {
            let sizes = DatagramSizes::new(length, Some(bytes));
            let all = sizes.datagrams().unwrap();
            let lengths: Vec<u32> = (0..all).map(|nth| sizes.length_of(nth)).collect();
            assert_eq!(
                lengths.iter().map(|length| u64::from(*length)).sum::<u64>(),
                bytes,
                "{lengths:?}"
            );
            assert!(
                lengths
                    .iter()
                    .all(|one| (MIN_DATAGRAM..=length).contains(one)),
                "{lengths:?}"
            );
            // Batches cover them all, and only the last of a batch is shorter.
            let mut at = 0;
            while at < all {
                let count = sizes.batch(at, 44);
                assert!(count >= 1);
                assert!(
                    (at..at + count - 1).all(|nth| sizes.length_of(nth) == length),
                    "{lengths:?}"
                );
                at += count;
            }
            assert_eq!(at, all);
        }
        assert_eq!(DatagramSizes::new(1000, None).batch(7, 44), 44);
        assert_eq!(DatagramSizes::new(1000, None).length_of(u64::MAX), 1000);
    }
}
