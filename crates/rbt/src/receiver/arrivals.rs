//! Which packets have arrived.

use crate::range_set::RangeSet;
use std::ops::Range;

/// Maximum number of ranges remembered; blocks cover what they omit.
const MAX_RANGES: usize = 64;

/// The packet numbers that have arrived.
#[derive(Debug)]
pub(super) struct Arrivals {
    ranges: RangeSet,
    largest: Option<u64>,
    /// The arrival of the largest, ns.
    largest_ns: u64,
    first_pn: u64,
    added: Vec<Range<u64>>,
}

/// What a packet number says about the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArrivalOrder {
    /// It follows the highest one so far.
    Next,
    /// Numbers between it and the highest one so far are missing.
    AfterGap,
    /// It is below the highest one so far.
    Late,
}

impl Arrivals {
    pub(super) fn new(first_pn: u64) -> Self {
        Self {
            ranges: RangeSet::default(),
            largest: None,
            largest_ns: 0,
            first_pn,
            added: Vec::new(),
        }
    }

    /// The bytes of memory that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        self.ranges.memory_bytes() + self.added.capacity() * size_of::<Range<u64>>()
    }

    /// The number of a packet from its low 32 bits: the one that is nearest to what is expected next (RFC 9000, appendix A.3).
    #[inline]
    pub(super) fn expand(&self, low: u32) -> u64 {
        let expected = self.largest.map_or(self.first_pn, |largest| largest + 1);
        let difference = low.wrapping_sub(expected as u32).cast_signed();
        expected
            .checked_add_signed(i64::from(difference))
            .unwrap_or(u64::from(low))
    }

    /// Notes a packet whose order is `order`.
    #[inline]
    pub(super) fn on_packet(&mut self, now_ns: u64, pn: u64) -> ArrivalOrder {
        let order = self.see(now_ns, pn);
        if self.ranges.extend(pn) {
            return order;
        }
        self.added.clear();
        self.ranges.insert(&(pn..pn + 1), &mut self.added);
        if self.ranges.len() > MAX_RANGES {
            self.ranges.remove_lowest();
        }
        order
    }

    /// Notes that a packet was seen, without acknowledging it.
    pub(super) fn see(&mut self, now_ns: u64, pn: u64) -> ArrivalOrder {
        let order = match self.largest {
            Some(largest) if pn <= largest => return ArrivalOrder::Late,
            Some(largest) if pn > largest + 1 => ArrivalOrder::AfterGap,
            None if pn > self.first_pn => ArrivalOrder::AfterGap,
            _ => ArrivalOrder::Next,
        };
        self.largest = Some(pn);
        self.largest_ns = now_ns;
        order
    }

    /// The highest number, and the time since its arrival, ns.
    pub(super) fn largest(&self, now_ns: u64) -> Option<(u64, u64)> {
        self.largest
            .map(|largest| (largest, now_ns.saturating_sub(self.largest_ns)))
    }

    /// The ranges, the highest first.
    pub(super) fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.descending()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_expanded_across_the_wrap_of_their_low_half() {
        let first = u64::from(u32::MAX) - 1;
        let mut arrivals = Arrivals::new(first);
        for pn in first..first + 6 {
            assert_eq!(arrivals.expand(pn as u32), pn);
            assert_eq!(arrivals.on_packet(0, pn), ArrivalOrder::Next);
        }
        assert_eq!(arrivals.expand((first + 2) as u32), first + 2, "a late one");
        assert_eq!(arrivals.expand((first + 1000) as u32), first + 1000);
        assert_eq!(arrivals.ranges().count(), 1);
    }

    #[test]
    fn a_low_number_below_zero_stays_a_number() {
        let arrivals = Arrivals::new(0);
        assert_eq!(arrivals.expand(u32::MAX), u64::from(u32::MAX));
    }

    #[test]
    fn the_order_tells_gaps_from_late_packets() {
        let mut arrivals = Arrivals::new(10);
        let orders = [11, 12, 10, 14].map(|pn| arrivals.on_packet(5, pn));
        assert_eq!(
            orders,
            [
                ArrivalOrder::AfterGap,
                ArrivalOrder::Next,
                ArrivalOrder::Late,
                ArrivalOrder::AfterGap
            ]
        );
        assert_eq!(arrivals.largest(9), Some((14, 4)));
    }

    #[test]
    fn no_more_than_the_highest_ranges_are_remembered() {
        let mut arrivals = Arrivals::new(0);
        for pn in (0..10_000).step_by(2) {
            arrivals.on_packet(0, pn);
        }
        assert_eq!(arrivals.ranges().count(), MAX_RANGES);
        assert_eq!(arrivals.ranges().next(), Some(&(9998..9999)));
    }
}
