//! How an amount of payload becomes datagrams.

use crate::plan::SMALLEST_DATAGRAM;

/// How a UDP flow's payload is cut into datagrams: all of one length, but where an exact end takes a
/// shorter last one, or two so that the last still has room for its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    length: u32,
    datagrams: Option<u64>,
    last_but_one: u32,
    last: u32,
}

impl Cut {
    /// Datagrams of `length` bytes that carry `bytes` in all; without end when that is `None`.
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
        let missing = SMALLEST_DATAGRAM.saturating_sub(rest);
        let lends = datagrams > Some(1) && length >= SMALLEST_DATAGRAM + missing;
        Self {
            length,
            datagrams,
            last_but_one: if lends { length - missing } else { length },
            last: rest.max(SMALLEST_DATAGRAM.min(length)),
        }
    }

    /// So many whole datagrams of `length` bytes; without end when that is `None`.
    #[must_use]
    pub const fn whole(length: u32, datagrams: Option<u64>) -> Self {
        Self {
            length,
            datagrams,
            last_but_one: length,
            last: length,
        }
    }

    /// How many there are; `None` when there is no end to them.
    #[must_use]
    pub const fn datagrams(&self) -> Option<u64> {
        self.datagrams
    }

    /// Payload bytes of the datagram with this number.
    #[must_use]
    #[inline]
    pub const fn length_of(&self, sequence: u64) -> u32 {
        match self.datagrams {
            Some(all) if sequence.saturating_add(1) == all => self.last,
            Some(all) if sequence.saturating_add(2) == all => self.last_but_one,
            _ => self.length,
        }
    }

    /// How many may leave together from `sequence` on, `most` at most: only the last of them may be
    /// shorter than the others.
    #[must_use]
    pub fn together(&self, sequence: u64, most: u64) -> u64 {
        let Some(all) = self.datagrams else {
            return most;
        };
        let most = most.min(all.saturating_sub(sequence));
        // The last but one, when it is shorter, ends a batch.
        let short = if self.last_but_one < self.length {
            all.saturating_sub(1)
        } else {
            all
        };
        if sequence < short {
            most.min(short - sequence)
        } else {
            most
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
            let cut = Cut::new(length, Some(bytes));
            let all = cut.datagrams().unwrap();
            let lengths: Vec<u32> = (0..all).map(|nth| cut.length_of(nth)).collect();
            assert_eq!(
                lengths.iter().map(|length| u64::from(*length)).sum::<u64>(),
                bytes,
                "{lengths:?}"
            );
            assert!(
                lengths
                    .iter()
                    .all(|one| (SMALLEST_DATAGRAM..=length).contains(one)),
                "{lengths:?}"
            );
            // Batches cover them all, and only the last of a batch is shorter.
            let mut at = 0;
            while at < all {
                let count = cut.together(at, 44);
                assert!(count >= 1);
                assert!(
                    (at..at + count - 1).all(|nth| cut.length_of(nth) == length),
                    "{lengths:?}"
                );
                at += count;
            }
            assert_eq!(at, all);
        }
        assert_eq!(Cut::new(1000, None).together(7, 44), 44);
        assert_eq!(Cut::new(1000, None).length_of(u64::MAX), 1000);
    }
}
