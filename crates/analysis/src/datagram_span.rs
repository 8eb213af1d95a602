//! The time in which datagrams arrived, without a fencepost: n datagrams a gap apart span n - 1 gaps.

use crate::interval::Reading;
use caudal_core::sample::ReceiverCounters;

/// Maximum distance of an arrival from a reading, in mean gaps, at which the arrival bounds the time instead of the reading. A
/// flow that paused there for longer is measured to the reading: its pause belongs to it.
const MAX_GAPS: u64 = 2;

/// The time the datagrams between two readings took, ns; that between the readings when their arrivals are not known.
///
/// The time runs from arrival to arrival where datagrams arrived shortly before the readings: as many gaps as datagrams. In a
/// span that begins with the very first datagram there is one gap less, for which the mean of the others stands.
pub(crate) fn datagram_span_ns(
    first: &Reading<ReceiverCounters>,
    last: &Reading<ReceiverCounters>,
) -> u64 {
    let between_ns = last.at_ns.saturating_sub(first.at_ns);
    let arrived = last
        .counters
        .datagrams
        .saturating_sub(first.counters.datagrams);
    if arrived < 3 || last.counters.last_ns == 0 {
        return between_ns;
    }
    let near_ns = between_ns / arrived * MAX_GAPS;
    let is_first = first.counters.datagrams == 0;
    let arrival_ns = if is_first {
        last.counters.first_ns
    } else {
        first.counters.last_ns
    };
    let has_near_start = first.at_ns.abs_diff(arrival_ns) <= near_ns;
    let has_near_end = last.at_ns.abs_diff(last.counters.last_ns) <= near_ns;
    let start_ns = if has_near_start {
        arrival_ns
    } else {
        first.at_ns
    };
    let end_ns = if has_near_end {
        last.counters.last_ns
    } else {
        last.at_ns
    };
    let span_ns = end_ns.saturating_sub(start_ns);
    if is_first && has_near_start && has_near_end {
        let gaps = u128::from(arrived - 1);
        let whole = u128::from(span_ns) * u128::from(arrived) / gaps;
        u64::try_from(whole).unwrap_or(u64::MAX)
    } else {
        span_ns
    }
}

/// The same in a test that ends by a number of datagrams, whose last reading follows the last arrival: two of them are a gap apart, and
/// of one there is no time that could be a gap.
pub(crate) fn counted_span_ns(
    first: &Reading<ReceiverCounters>,
    last: &Reading<ReceiverCounters>,
) -> Option<u64> {
    let (from, until) = (&first.counters, &last.counters);
    let gap_ns = until.last_ns.saturating_sub(until.first_ns);
    match (from.datagrams, until.datagrams) {
        (0, 1) => None,
        (0, 2) if gap_ns > 0 => Some(2 * gap_ns),
        _ => Some(datagram_span_ns(first, last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::units::ByteCount;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// The counters at `at_ns` of datagrams a gap apart, the first of which arrives at `begin_ns`.
    fn paced(begin_ns: u64, gap_ns: u64, at_ns: u64) -> ReceiverCounters {
        let datagrams = at_ns.checked_sub(begin_ns).map_or(0, |ns| ns / gap_ns + 1);
        ReceiverCounters {
            datagrams,
            first_ns: if datagrams > 0 { begin_ns } else { 0 },
            last_ns: begin_ns + datagrams.saturating_sub(1) * gap_ns,
            ..ReceiverCounters::default()
        }
    }

    fn span(first: (u64, &ReceiverCounters), last: (u64, &ReceiverCounters)) -> u64 {
        let reading = |(at_ns, counters): (u64, &ReceiverCounters)| Reading {
            at_ns,
            counters: *counters,
        };
        datagram_span_ns(&reading(first), &reading(last))
    }

    /// The rate of datagrams of `bytes` between two readings, bit/s.
    fn rate(bytes: u64, first: (u64, &ReceiverCounters), last: (u64, &ReceiverCounters)) -> u64 {
        let payload = ByteCount::new((last.1.datagrams - first.1.datagrams) * bytes);
        payload
            .per(Duration::from_nanos(span(first, last)))
            .unwrap()
            .bps()
    }

    #[test]
    fn a_paced_flow_has_its_rate_however_few_its_datagrams_are() {
        for (bytes, bps) in [(65_507, 5_000_000), (1_472, 5_000_000), (1_472, 100_000)] {
            let gap_ns = bytes * 8 * 1_000_000_000 / bps;
            for begin_ns in [0, gap_ns / 3] {
                for end_ns in [1000 * MS, 1003 * MS, 2000 * MS] {
                    let last = paced(begin_ns, gap_ns, end_ns);
                    let found = rate(bytes, (0, &ReceiverCounters::default()), (end_ns, &last));
                    assert!(found.abs_diff(bps) <= bps / 10_000, "{bytes} B: {found}");
                    let warm = paced(begin_ns, gap_ns, 500 * MS);
                    let found = rate(bytes, (500 * MS, &warm), (end_ns, &last));
                    assert!(found.abs_diff(bps) <= bps / 10_000, "{bytes} B: {found}");
                }
            }
        }
    }

    #[test]
    fn one_datagram_alone_has_no_rate_and_two_have_that_of_their_gap() {
        let reading = |at_ns, counters: ReceiverCounters| Reading { at_ns, counters };
        let start = reading(0, ReceiverCounters::default());
        // The only one arrived in 0.3 ms, and was read a little later.
        let one = reading(MS / 2, paced(MS / 3, 12 * MS, MS / 2));
        assert_eq!(counted_span_ns(&start, &one), None);
        let two = reading(13 * MS, paced(MS, 12 * MS, 13 * MS));
        assert_eq!(counted_span_ns(&start, &two), Some(24 * MS));
        let more = reading(121 * MS, paced(MS, 12 * MS, 121 * MS));
        assert_eq!(counted_span_ns(&start, &more), Some(11 * 12 * MS));
    }

    #[test]
    fn a_pause_at_either_end_belongs_to_the_time() {
        let start = ReceiverCounters::default();
        let until_half = paced(0, MS, 500 * MS);
        let found = span((0, &start), (1000 * MS, &until_half));
        assert_eq!(found, 1000 * MS);
        let from_half = paced(500 * MS, MS, 1000 * MS);
        let found = span((0, &start), (1000 * MS, &from_half));
        assert_eq!(found, 1000 * MS);
    }

    #[test]
    fn hardly_any_datagrams_are_measured_by_the_clock() {
        let start = ReceiverCounters::default();
        for datagrams in 0..3 {
            let few = ReceiverCounters {
                datagrams,
                first_ns: MS,
                last_ns: 2 * MS,
                ..ReceiverCounters::default()
            };
            assert_eq!(span((0, &start), (1000 * MS, &few)), 1000 * MS);
        }
        let unknown = ReceiverCounters {
            datagrams: 100,
            ..ReceiverCounters::default()
        };
        assert_eq!(span((0, &start), (1000 * MS, &unknown)), 1000 * MS);
    }
}
