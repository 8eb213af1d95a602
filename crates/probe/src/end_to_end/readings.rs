//! Trains as the estimators take them.

use super::clock_skew::{TimedDelay, clock_skew};
use crate::available_bandwidth::DelayStream;
use crate::narrow_capacity::{PairReading, TrainArrival};
use caudal_core::plan::TrainSpacing;
use caudal_core::units::BitRate;
use caudal_wire::trains::{SeriesReadings, TrainTimes};

/// Maximum excess of a gap between departures over the planned one: beyond twice the gap, or a millisecond more, the stream is not as planned.
const MAX_GAPS: u64 = 2;
const MAX_LATE_NS: u64 = 1_000_000;
/// Maximum relative difference between the rate at which a stream left and the planned one.
const MAX_RATE_ERROR: f64 = 0.05;
/// Bytes of a train that fit into every sender's buffer: Linux allows 212 992 by default, and counts about half as much again.
const MAX_UNHELD_BYTES: u64 = 100_000;
/// Leading datagrams of a pair or a bulk that are not read.
pub(super) const LEADING: u32 = 1;

/// The datagram behind the leading ones and the last of each train whose datagrams have all arrived, with `wire_bytes` each.
///
/// A datagram that comes after a pause wakes processors up on its way and is late by what that takes: the leading ones bear it.
/// The drift between the clocks is removed unless both ends read one.
pub(super) fn pairs(
    readings: &SeriesReadings,
    wire_bytes: u32,
    has_one_clock: bool,
) -> Vec<PairReading> {
    let whole: Vec<Ends> = readings
        .trains()
        .unwrap_or_default()
        .iter()
        .filter_map(Ends::from_train)
        .collect();
    let first = |ends: &Ends| TimedDelay {
        at_ns: ends.sent_ns as f64,
        delay_ns: ends.first_ns as f64,
    };
    let skew = if has_one_clock {
        0.0
    } else {
        clock_skew(&whole.iter().map(first).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let begin_ns = whole.first().map_or(0, |ends| ends.sent_ns);
    let between = readings.series.datagrams.saturating_sub(1 + LEADING);
    whole
        .iter()
        .map(|ends| {
            let drift_ns = (ends.sent_ns.wrapping_sub(begin_ns) as i64 as f64 * skew) as i64;
            PairReading {
                bytes: wire_bytes.saturating_mul(between),
                first_delay_ns: ends.first_ns.saturating_sub(drift_ns),
                second_delay_ns: ends.last_ns.saturating_sub(drift_ns),
            }
        })
        .collect()
}

/// The delays of the datagram behind the leading ones and of the last of a train from the time at which it left.
struct Ends {
    sent_ns: u64,
    first_ns: i64,
    last_ns: i64,
}

impl Ends {
    /// Those of a train of which nothing was lost.
    fn from_train(train: &TrainTimes) -> Option<Self> {
        let sent_ns = (*train.sent_ns.first()?)?;
        let arrived: Option<Vec<u64>> = train.arrived_ns.iter().copied().collect();
        let arrived = arrived.filter(|all| all.is_sorted())?;
        let behind = arrived.get(LEADING as usize..)?;
        let [first, .., last] = behind else {
            return None;
        };
        let delay = |at_ns: u64| at_ns.wrapping_sub(sent_ns) as i64;
        Some(Self {
            sent_ns,
            first_ns: delay(*first),
            last_ns: delay(*last),
        })
    }
}

/// The arrivals of each train in their order, with `wire_bytes` each; trains of which nothing arrived are left out.
pub(super) fn arrivals(readings: &SeriesReadings, wire_bytes: u32) -> Vec<Vec<TrainArrival>> {
    let trains = readings.trains().unwrap_or_default();
    let arrived = |train: &TrainTimes| {
        let mut times: Vec<u64> = train.arrived_ns.iter().flatten().copied().collect();
        times.sort_unstable();
        let arrival = |at_ns| TrainArrival {
            bytes: wire_bytes,
            at_ns,
        };
        times.into_iter().map(arrival).collect::<Vec<_>>()
    };
    let all = trains.iter().map(arrived);
    all.filter(|train| !train.is_empty()).collect()
}

/// The rate at which the sender's kernel took the fastest of the trains, with `wire_bytes` for each datagram.
///
/// `None` where its times are not known, and for trains that may fill the sender's buffer: these are taken at the rate of its link.
pub(super) fn departure_rate(readings: &SeriesReadings, wire_bytes: u32) -> Option<BitRate> {
    if u64::from(readings.series.datagrams) * u64::from(wire_bytes) > MAX_UNHELD_BYTES {
        return None;
    }
    let took = |train: &TrainTimes| {
        let sent: Option<Vec<u64>> = train.sent_ns.iter().copied().collect();
        let sent = sent.filter(|sent| sent.len() >= 2)?;
        let took_ns = sent[sent.len() - 1].checked_sub(sent[0])?;
        let bits = (sent.len() - 1) as f64 * f64::from(wire_bytes) * 8.0;
        BitRate::from_f64(bits * 1e9 / took_ns as f64).filter(|_| took_ns > 0)
    };
    let trains = readings.trains().unwrap_or_default();
    trains.iter().filter_map(took).max()
}

/// The streams that left as planned.
pub(super) fn streams(readings: &SeriesReadings) -> Vec<DelayStream> {
    let TrainSpacing::Constant { gap_ns } = readings.series.spacing else {
        return Vec::new();
    };
    let trains = readings.trains().unwrap_or_default();
    let as_planned = trains.iter().filter(|train| left_evenly(train, gap_ns));
    as_planned
        .map(|train| DelayStream {
            sent: readings.series.datagrams,
            spacing_ns: gap_ns,
            delays_ns: train.delays_ns().flatten().collect(),
        })
        .collect()
}

/// `true` when the datagrams of a train left `gap_ns` apart, as far as it matters.
fn left_evenly(train: &TrainTimes, gap_ns: u64) -> bool {
    let sent: Option<Vec<u64>> = train.sent_ns.iter().copied().collect();
    let Some(sent) = sent.filter(|sent| sent.is_sorted() && sent.len() >= 2) else {
        return false;
    };
    let max_gap_ns = (gap_ns * MAX_GAPS).max(gap_ns + MAX_LATE_NS);
    let took_ns = (sent[sent.len() - 1] - sent[0]) as f64;
    let planned_ns = gap_ns as f64 * (sent.len() - 1) as f64;
    let is_even = sent.windows(2).all(|pair| pair[1] - pair[0] <= max_gap_ns);
    is_even && (took_ns / planned_ns - 1.0).abs() <= MAX_RATE_ERROR
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::TrainSeries;
    use caudal_wire::trains::{DatagramTimes, ReceivedTrains, SentTrains};

    fn readings(
        datagrams: u32,
        spacing: TrainSpacing,
        sent: &[u64],
        arrived: &[Option<u64>],
    ) -> SeriesReadings {
        let mut sent_times = DatagramTimes::default();
        for (number, at_ns) in (0..).zip(sent) {
            sent_times.push(number, *at_ns);
        }
        let mut times = DatagramTimes::default();
        for (number, at_ns) in (0..).zip(arrived) {
            if let Some(at_ns) = at_ns {
                times.push(number, *at_ns);
            }
        }
        SeriesReadings {
            series: TrainSeries {
                trains: sent.len() as u32 / datagrams,
                datagrams,
                length: 1472,
                spacing,
                period_ns: 20_000_000,
                timed: true,
            },
            sent: Some(SentTrains {
                datagrams: sent.len() as u64,
                times: Some(sent_times),
                ..SentTrains::default()
            }),
            received: Some(ReceivedTrains {
                datagrams: times.numbers.len() as u64,
                times: Some(times),
                ..ReceivedTrains::default()
            }),
        }
    }

    #[test]
    fn a_pair_of_which_one_was_lost_is_none() {
        let readings = readings(
            3,
            TrainSpacing::BackToBack,
            &[1000, 1000, 1000, 9000, 9000, 9000],
            &[
                Some(450),
                Some(500),
                Some(700),
                Some(9700),
                None,
                Some(9900),
            ],
        );
        let found = pairs(&readings, 1538, true);
        assert_eq!(
            found,
            [PairReading {
                bytes: 1538,
                first_delay_ns: -500,
                second_delay_ns: -300
            }]
        );
        let trains = arrivals(&readings, 1538);
        assert_eq!((trains[0].len(), trains[1].len()), (3, 2));
    }

    #[test]
    fn the_drift_of_the_clocks_is_removed_from_both_delays() {
        let sent: Vec<u64> = (0..100).flat_map(|nth| [nth * 1_000_000; 3]).collect();
        // 100 parts in a million, and a dispersion of 200 ns.
        let arrived: Vec<Option<u64>> = sent
            .iter()
            .enumerate()
            .map(|(nth, at)| Some(at + at / 10_000 + (nth as u64 % 3) * 200))
            .collect();
        let readings = readings(3, TrainSpacing::BackToBack, &sent, &arrived);
        for pair in pairs(&readings, 1538, false) {
            assert!((pair.first_delay_ns - 200).abs() <= 1, "{pair:?}");
            assert!((pair.second_delay_ns - 400).abs() <= 1, "{pair:?}");
        }
        let drifting = pairs(&readings, 1538, true);
        assert!(drifting[99].first_delay_ns > 9000);
    }

    #[test]
    fn a_stream_that_did_not_leave_evenly_is_left_out() {
        let spacing = TrainSpacing::Constant { gap_ns: 1000 };
        let even: Vec<u64> = (0..10).map(|nth| nth * 1000).collect();
        let fast: Vec<u64> = (0..10).map(|nth| 100_000 + nth * 900).collect();
        let sent: Vec<u64> = even.into_iter().chain(fast).collect();
        let arrived: Vec<Option<u64>> = sent.iter().map(|at| Some(at + 50)).collect();
        let found = streams(&readings(10, spacing, &sent, &arrived));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].sent, found[0].delays_ns.len()), (10, 10));
        let at_once = readings(10, TrainSpacing::BackToBack, &sent, &arrived);
        assert_eq!(streams(&at_once), []);
    }
}
