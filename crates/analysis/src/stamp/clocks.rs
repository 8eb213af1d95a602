//! The offset of a reflector's clock, from packets there and back.

use caudal_core::echo::{ClockOffset, ClockOffsetLine};
use caudal_stats::ClockEstimate;

/// Minimum number of packets of each end of the test.
const MIN_EXCHANGES: usize = 10;
/// Part of the packets from which the offset at each end of the test is found.
const PART: usize = 10;

/// The four times of a packet, ns: the sender's clock and the reflector's, each as its end had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampExchange {
    /// The time at which the packet was due, after the test's start.
    pub at_ns: i64,
    /// Sent, received by the reflector, sent back, received.
    pub times: [i64; 4],
}

/// What is known of the offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampOffset {
    /// The offset over the test.
    pub line: ClockOffsetLine,
    /// `true` where both clocks are taken at their word: the offset is none, within their errors.
    pub is_trusted: bool,
    /// The offset that was found, where both clocks say that they are synchronized and differ by more than they may, ns.
    pub contradiction_ns: Option<i64>,
}

/// The offset of the reflector's clock over a test. `errors_ns` is the sum of the errors of both clocks where both say that they are
/// synchronized: where that is less than what packets themselves tell, and does not contradict it, they are taken at their word.
#[must_use]
pub fn clock_offset(exchanges: &[StampExchange], errors_ns: Option<u64>) -> Option<StampOffset> {
    let part = (exchanges.len() / PART)
        .max(MIN_EXCHANGES)
        .min(exchanges.len());
    let before = offset(exchanges.get(..part)?)?;
    let after = offset(exchanges.get(exchanges.len() - part..)?)?;
    let line = ClockOffsetLine { before, after };
    let Some(error_ns) = errors_ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)) else {
        return Some(StampOffset {
            line,
            is_trusted: false,
            contradiction_ns: None,
        });
    };
    let differs =
        |one: &ClockOffset| one.offset_ns.saturating_abs() > one.bound_ns.saturating_add(error_ns);
    if let Some(one) = [before, after].iter().find(|one| differs(one)) {
        return Some(StampOffset {
            line,
            is_trusted: false,
            contradiction_ns: Some(one.offset_ns),
        });
    }
    let is_trusted = error_ns < line.bound_ns();
    let at_word = |one: ClockOffset| ClockOffset {
        offset_ns: 0,
        bound_ns: error_ns,
        ..one
    };
    Some(StampOffset {
        line: match is_trusted {
            true => ClockOffsetLine {
                before: at_word(before),
                after: at_word(after),
            },
            false => line,
        },
        is_trusted,
        contradiction_ns: None,
    })
}

fn offset(exchanges: &[StampExchange]) -> Option<ClockOffset> {
    let mut estimate = ClockEstimate::new();
    for one in exchanges {
        let [t1, t2, t3, t4] = one.times;
        estimate.push(t1, t2, t3, t4);
    }
    Some(ClockOffset {
        at_ns: exchanges.get(exchanges.len() / 2)?.at_ns,
        offset_ns: estimate.offset_ns()?,
        bound_ns: estimate.bound_ns()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Packets every 10 ms that take 4 ms there and 6 ms back, of a reflector whose clock is ahead by `ahead_ns` and gains 10 ppm.
    fn exchanges(ahead_ns: i64) -> Vec<StampExchange> {
        let one = |nth: i64| {
            let at_ns = nth * 10 * MS;
            let offset = ahead_ns + at_ns / 100_000;
            let times = [
                at_ns,
                at_ns + 4 * MS + offset,
                at_ns + 4 * MS + offset + 20_000,
                at_ns + 10 * MS + 20_000,
            ];
            StampExchange { at_ns, times }
        };
        (0..1000).map(one).collect()
    }

    #[test]
    fn the_offset_and_its_drift_are_found_within_half_a_round_trip() {
        let found = clock_offset(&exchanges(-700 * MS), None).unwrap();
        // The path is asymmetric by 2 ms, which nobody can see: the offset is off by half of that.
        let off = found.line.before.offset_ns - (-700 * MS);
        assert!((off + MS).abs() < MS / 10, "{off}");
        assert!(off.abs() <= found.line.before.bound_ns, "{found:?}");
        let drift = found.line.drift_ppm().unwrap();
        assert!((drift - 10.0).abs() < 0.2, "{drift}");
        assert!(!found.is_trusted);
    }

    #[test]
    fn clocks_are_taken_at_their_word_where_that_is_better_and_not_contradicted() {
        let synchronized = exchanges(0);
        let found = clock_offset(&synchronized, Some(200_000)).unwrap();
        assert!(found.is_trusted);
        assert_eq!(
            (found.line.before.offset_ns, found.line.bound_ns()),
            (0, 200_000)
        );
        // An error of 16 s is worth less than the packets.
        assert!(
            !clock_offset(&synchronized, Some(16_000_000_000))
                .unwrap()
                .is_trusted
        );
        // The leap seconds of a clock on TAI.
        let apart = clock_offset(&exchanges(37_000 * MS), Some(200_000)).unwrap();
        assert!(!apart.is_trusted);
        assert!(
            apart
                .contradiction_ns
                .is_some_and(|ns| (ns - 37_000 * MS).abs() < 2 * MS)
        );
    }

    #[test]
    fn without_packets_nothing_is_known() {
        assert_eq!(clock_offset(&[], None), None);
        assert!(clock_offset(&exchanges(0)[..1], None).is_some());
    }
}
