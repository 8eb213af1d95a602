//! The payload that does not arrive while it is being sent.

use caudal_core::sample::{Counters, Sample};
use std::collections::BTreeMap;

/// The datagrams of a flow that may be in flight at any rate: readings fall between departures.
const MAX_IN_FLIGHT_DATAGRAMS: f64 = 3.0;

/// The fraction of the payload sent over the second half of a trial that did not arrive in that time, from 0 to 1:
/// lost, or in a queue that was filling. `None` with too few readings.
///
/// Each end's rate is the median of the slopes between all pairs of its readings (Theil and Sen), so that
/// one late reading does not count. `length` is the payload of a datagram, bytes.
#[must_use]
pub fn undelivered_fraction(samples: &[Sample], length: u32) -> Option<f64> {
    let mut flows: BTreeMap<u32, [Vec<(u64, u64)>; 2]> = BTreeMap::new();
    for sample in samples {
        let [sender, receiver] = flows.entry(sample.flow).or_default();
        match sample.counters {
            Counters::Sender(counters) => sender.push((sample.at_ns, counters.bytes)),
            Counters::Receiver(counters) => receiver.push((sample.at_ns, counters.bytes)),
        }
    }
    let (mut sent, mut undelivered) = (0.0, 0.0);
    for [sender, receiver] in flows.values() {
        let (sender, span_ns) = second_half_rate(sender)?;
        let (receiver, _) = second_half_rate(receiver)?;
        let missing = sender - receiver;
        if missing * span_ns > MAX_IN_FLIGHT_DATAGRAMS * f64::from(length) {
            undelivered += missing;
        }
        sent += sender;
    }
    (sent > 0.0).then(|| undelivered / sent)
}

/// The rate over the second half of some readings (ns, bytes), in bytes per ns, and the length of that half in ns.
fn second_half_rate(reads: &[(u64, u64)]) -> Option<(f64, f64)> {
    let last_ns = reads.iter().map(|(at_ns, _)| *at_ns).max()?;
    let half: Vec<(f64, f64)> = reads
        .iter()
        .filter(|(at_ns, _)| *at_ns >= last_ns / 2)
        .map(|(at_ns, bytes)| (*at_ns as f64, *bytes as f64))
        .collect();
    let first_ns = half
        .iter()
        .map(|(at_ns, _)| *at_ns)
        .min_by(f64::total_cmp)?;
    let mut slopes: Vec<f64> = half
        .iter()
        .enumerate()
        .flat_map(|(nth, earlier)| half[nth + 1..].iter().map(move |later| (earlier, later)))
        .filter(|(earlier, later)| later.0 > earlier.0)
        .map(|(earlier, later)| (later.1 - earlier.1) / (later.0 - earlier.0))
        .collect();
    if slopes.len() < 3 {
        return None;
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let middle = slopes.len() / 2;
    let median = if slopes.len() % 2 == 1 {
        slopes[middle]
    } else {
        f64::midpoint(slopes[middle - 1], slopes[middle])
    };
    Some((median, last_ns as f64 - first_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::sample::{ReceiverCounters, SenderCounters};

    /// Readings every 50 ms for a second of one flow: bytes a ms sent, and arriving in each half.
    fn readings(sent: u64, first_half: u64, second_half: u64) -> Vec<Sample> {
        let sample = |tick: u64, counters| Sample {
            flow: 0,
            tick,
            at_ns: tick * 50_000_000,
            counters,
        };
        (0..=20_u64)
            .flat_map(|tick| {
                let (early, late) = (tick.min(10), tick.saturating_sub(10));
                [
                    sample(
                        tick,
                        Counters::Sender(SenderCounters {
                            bytes: tick * 50 * sent,
                            ..Default::default()
                        }),
                    ),
                    sample(
                        tick,
                        Counters::Receiver(ReceiverCounters {
                            bytes: 50 * (early * first_half + late * second_half),
                            ..Default::default()
                        }),
                    ),
                ]
            })
            .collect()
    }

    #[test]
    fn a_filling_queue_shows_in_the_second_half() {
        // A token bucket passes the first half.
        let fraction = undelivered_fraction(&readings(10_000, 10_000, 9_900), 1448).unwrap();
        assert!((fraction - 0.01).abs() < 1e-9, "{fraction}");
        // The tokens of the first half do not count against the rate of the second.
        assert_eq!(
            undelivered_fraction(&readings(10_000, 8_000, 10_000), 1448),
            Some(0.0)
        );
    }

    #[test]
    fn one_late_reading_and_a_few_datagrams_in_flight_are_no_queue() {
        let mut reads = readings(10_000, 10_000, 10_000);
        if let Some(Sample {
            counters: Counters::Receiver(last),
            ..
        }) = reads.last_mut()
        {
            last.bytes -= 200_000;
        }
        assert_eq!(undelivered_fraction(&reads, 1448), Some(0.0));
        assert_eq!(
            undelivered_fraction(&readings(100, 100, 98), 1448),
            Some(0.0)
        );
        assert_eq!(undelivered_fraction(&reads[..4], 1448), None);
    }
}
