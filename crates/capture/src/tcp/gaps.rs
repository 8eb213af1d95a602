//! Bytes of a direction that were skipped.

/// Maximum number of gaps kept; beyond it, the oldest count as missing.
const MAX_GAPS: usize = 256;

/// Ranges of sequence numbers below the highest of which no segment was captured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaps {
    /// Begin, end and the time at which it was seen; in the order of sequence numbers.
    ranges: Vec<(i64, i64, u64)>,
    /// Bytes of gaps that were given up.
    given_up: u64,
}

impl Gaps {
    /// A gap in front of a new segment.
    pub(crate) fn open(&mut self, begin: i64, end: i64, at_ns: u64) {
        if self.ranges.len() >= MAX_GAPS {
            let (begin, end, _) = self.ranges.remove(0);
            self.given_up += (end - begin) as u64;
        }
        self.ranges.push((begin, end, at_ns));
    }

    /// The bytes of a segment that fall into gaps, which are closed; with the time at which the first of them opened.
    pub(crate) fn fill(&mut self, begin: i64, end: i64) -> (u64, Option<u64>) {
        let (mut filled, mut opened) = (0, None);
        let mut at = self.ranges.partition_point(|range| range.1 <= begin);
        while let Some(&(low, high, since)) = self.ranges.get(at)
            && low < end
        {
            let (from, to) = (low.max(begin), high.min(end));
            filled += (to - from) as u64;
            opened = opened.or(Some(since));
            self.ranges.remove(at);
            if to < high {
                self.ranges.insert(at, (to, high, since));
            }
            if low < from {
                self.ranges.insert(at, (low, from, since));
                at += 1;
            }
            if to < high {
                break;
            }
        }
        (filled, opened)
    }

    /// The bytes of a segment that fall into gaps, and the time at which the first of them opened.
    #[inline]
    pub(crate) fn peek(&self, begin: i64, end: i64) -> (u64, Option<u64>) {
        if self.ranges.is_empty() {
            return (0, None);
        }
        let first = self.ranges.partition_point(|range| range.1 <= begin);
        let inside = self.ranges[first..]
            .iter()
            .take_while(|range| range.0 < end);
        let filled: i64 = inside
            .clone()
            .map(|(low, high, _)| high.min(&end) - low.max(&begin))
            .sum();
        (filled as u64, inside.map(|range| range.2).next())
    }

    /// Bytes that were never captured.
    pub(crate) fn missing(&self) -> u64 {
        let open: i64 = self.ranges.iter().map(|(begin, end, _)| end - begin).sum();
        self.given_up + open as u64
    }

    /// `true` without gaps.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_filled_from_within() {
        let mut gaps = Gaps::default();
        gaps.open(10, 20, 7);
        gaps.open(30, 40, 8);
        assert_eq!(gaps.fill(12, 14), (2, Some(7)));
        assert_eq!(gaps.missing(), 18);
        assert_eq!(gaps.fill(0, 35), (13, Some(7)));
        assert_eq!(gaps.missing(), 5);
        assert_eq!(gaps.fill(12, 14), (0, None));
        assert_eq!(gaps.fill(35, 40), (5, Some(8)));
        assert!(gaps.is_empty());
    }

    #[test]
    fn gaps_are_bounded() {
        let mut gaps = Gaps::default();
        for at in 0..1_000 {
            gaps.open(at * 10, at * 10 + 5, 0);
        }
        assert_eq!((gaps.ranges.len(), gaps.missing()), (MAX_GAPS, 5_000));
    }
}
