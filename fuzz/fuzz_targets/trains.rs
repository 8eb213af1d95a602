//! The accounts of trains that two ends give, which may be anything: what is computed from them is of the trains that were asked for.
#![no_main]

use caudal_core::plan::{TrainSeries, TrainSpacing};
use caudal_wire::trains::{DatagramTimes, ReceivedTrains, SentTrains, SeriesReadings};
use libfuzzer_sys::fuzz_target;

/// Numbers and times, which need not be of the series.
fn times(base_ns: u64, each: &[(u32, u64)]) -> DatagramTimes {
    DatagramTimes {
        base_ns,
        numbers: each.iter().map(|(number, _)| *number).collect(),
        after_ns: each.iter().map(|(_, after_ns)| *after_ns).collect(),
    }
}

type End = (u64, u64, u64, u64, Vec<(u32, u64)>);

fuzz_target!(|input: (u8, u8, u32, End, End)| {
    let (trains, datagrams, length, sent, received) = input;
    let series = TrainSeries {
        trains: u32::from(trains),
        datagrams: u32::from(datagrams),
        length,
        spacing: TrainSpacing::BackToBack,
        period_ns: 1000,
        timed: true,
    };
    let readings = SeriesReadings {
        series,
        sent: Some(SentTrains {
            datagrams: sent.0,
            refused: sent.1,
            elapsed_ns: sent.2,
            times: Some(times(sent.3, &sent.4)),
            ..SentTrains::default()
        }),
        received: Some(ReceivedTrains {
            datagrams: received.0,
            elapsed_ns: received.2,
            times: Some(times(received.3, &received.4)),
            ..ReceivedTrains::default()
        }),
    };
    if let Some((sent, lost)) = readings.sent_and_lost() {
        assert!(lost <= sent);
    }
    if let Some(goodput) = readings.goodput() {
        assert!(goodput.as_f64().is_finite() && goodput.as_f64() >= 0.0);
    }
    if let Some(trains) = readings.trains() {
        // A train without datagrams has no times.
        let expected = if series.datagrams == 0 {
            0
        } else {
            series.trains
        };
        assert_eq!(trains.len(), expected as usize);
        for train in trains {
            assert_eq!(train.delays_ns().count(), series.datagrams as usize);
        }
    }
    // What is written down in order is found again.
    let mut own = DatagramTimes::default();
    for (nth, (_, at_ns)) in sent.4.iter().enumerate() {
        own.push(nth as u32, sent.3.saturating_add(*at_ns));
    }
    let found = own.by_number(sent.4.len() as u64);
    assert_eq!(found.map(|found| found.len()), Some(sent.4.len()));
});
