//! Sets of packet numbers as ranges.

use std::collections::VecDeque;
use std::ops::Range;

/// A set of numbers, as disjoint ranges that do not touch, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// The ranges, the highest first.
    pub(crate) fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.iter().rev()
    }

    /// The bytes of memory that it holds.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<Range<u64>>()
    }

    /// The number of ranges.
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Removes the lowest range.
    pub(crate) fn remove_lowest(&mut self) {
        self.ranges.pop_front();
    }

    /// Removes everything below `below`.
    pub(crate) fn remove_below(&mut self, below: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.start >= below {
                return;
            }
            if first.end > below {
                first.start = below;
                return;
            }
            self.ranges.pop_front();
        }
    }

    /// Whether `number` is in the set.
    #[cfg(test)]
    fn contains(&self, number: u64) -> bool {
        let index = self.first_ending_at_or_after(number + 1);
        self.ranges
            .get(index)
            .is_some_and(|range| range.contains(&number))
    }

    /// Adds a number if it follows the highest range: whether it did.
    #[inline]
    pub(crate) fn extend(&mut self, number: u64) -> bool {
        match self.ranges.back_mut() {
            Some(last) if last.end == number => {
                last.end += 1;
                true
            }
            _ => false,
        }
    }

    /// Adds `range`, which is not empty, and appends to `added` what of it was not in the set, in ascending order.
    pub(crate) fn insert(&mut self, range: &Range<u64>, added: &mut Vec<Range<u64>>) {
        // The common case: what follows the highest range.
        if let Some(last) = self.ranges.back_mut()
            && last.end == range.start
        {
            last.end = range.end;
            added.push(range.clone());
            return;
        }
        let first = self.first_ending_at_or_after(range.start);
        let mut merged = range.clone();
        let mut next = range.start;
        let mut after = first;
        while let Some(known) = self.ranges.get(after)
            && known.start <= range.end
        {
            if known.start > next {
                added.push(next..known.start.min(range.end));
            }
            next = next.max(known.end);
            merged.start = merged.start.min(known.start);
            merged.end = merged.end.max(known.end);
            after += 1;
        }
        if next < range.end {
            added.push(next..range.end);
        }
        match after - first {
            0 => self.ranges.insert(first, merged),
            touched => {
                self.ranges[first] = merged;
                if touched > 1 {
                    self.ranges.drain(first + 1..after);
                }
            }
        }
    }

    /// The index of the first range whose end is `number` or above.
    fn first_ending_at_or_after(&self, number: u64) -> usize {
        self.ranges.partition_point(|range| range.end < number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_the_set_of_its_numbers(steps in proptest::collection::vec((0_u64..60, 1_u64..12, any::<bool>()), 1..40)) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len, is_removal) in steps {
                if is_removal {
                    set.remove_below(start);
                    model.retain(|number| *number >= start);
                } else {
                    let mut added = Vec::new();
                    set.insert(&(start..start + len), &mut added);
                    let new: Vec<u64> = (start..start + len).filter(|number| model.insert(*number)).collect();
                    prop_assert_eq!(added.into_iter().flatten().collect::<Vec<_>>(), new);
                }
                for number in 0..80 {
                    prop_assert_eq!(set.contains(number), model.contains(&number));
                }
                let ranges: Vec<_> = set.descending().cloned().collect();
                prop_assert!(ranges.windows(2).all(|pair| pair[1].end < pair[0].start));
                prop_assert_eq!(ranges.len(), set.len());
            }
        }
    }
}
