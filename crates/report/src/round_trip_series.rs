//! The raw round-trip times among the samples of a run or trial.

use caudal_store::SampleSeries;
use std::collections::BTreeSet;

/// The round trips of one connection with messages of one size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTripSeries {
    /// The flow of the trial, or the connection of the run.
    pub flow: u32,
    /// The connection among those of the flow.
    pub client: u32,
    /// The size of the messages, bytes, where it is known.
    pub size_bytes: Option<f64>,
    /// The round-trip time of its first message, which is not among the others, s.
    pub first_s: Option<f64>,
    /// The times at which they were to be sent, s after the flow began; empty where they are unknown.
    pub at_s: Vec<f64>,
    /// The round-trip times in the order of sending, s; NaN for a message without a reply.
    pub values_s: Vec<f64>,
}

/// The raw round-trip times among recorded samples, by flow, connection and size.
///
/// A run's are named `rtt 64 B` for each connection and size, with `due 64 B` on a schedule and `first` for each
/// connection; a trial's are all in `rtt`, with `client`, `size` and `at` of each beside it where there are several.
#[must_use]
pub fn round_trip_series(series: &[SampleSeries]) -> Vec<RoundTripSeries> {
    let mut all: Vec<RoundTripSeries> = Vec::new();
    for one in series {
        let Some(rest) = one.name.strip_prefix("rtt") else {
            continue;
        };
        if let Some(size) = rest.strip_prefix(' ') {
            let due = beside(series, one, &format!("due{rest}"));
            all.push(RoundTripSeries {
                flow: one.flow,
                client: one.flow,
                size_bytes: size.split(' ').next().and_then(|size| size.parse().ok()),
                first_s: None,
                at_s: due.map_or_else(Vec::new, seconds),
                values_s: seconds(one),
            });
        } else if rest.is_empty() {
            all.extend(by_connection_and_size(series, one));
        }
    }
    // The first messages are in the order of the sizes of their connection.
    let flows: BTreeSet<u32> = all.iter().map(|one| one.flow).collect();
    for flow in flows {
        let first = series
            .iter()
            .find(|one| one.flow == flow && one.name == "first");
        let mine = || all.iter().filter(|one| one.flow == flow).count();
        let Some(first) = first.filter(|first| first.values.len() == mine()) else {
            continue;
        };
        let mine = all.iter_mut().filter(|one| one.flow == flow);
        for (one, first) in mine.zip(seconds(first)) {
            one.first_s = Some(first).filter(|first| first.is_finite());
        }
    }
    all
}

/// The series of this name of the same flow with as many values as `one`.
fn beside<'a>(
    series: &'a [SampleSeries],
    one: &SampleSeries,
    name: &str,
) -> Option<&'a SampleSeries> {
    series.iter().find(|other| {
        other.flow == one.flow && other.name == name && other.values.len() == one.values.len()
    })
}

/// The values, s.
fn seconds(series: &SampleSeries) -> Vec<f64> {
    let unit = match series.unit.as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        _ => 1.0,
    };
    series.values.iter().map(|value| value * unit).collect()
}

/// The round-trip times of a flow, separated by connection and size.
fn by_connection_and_size(series: &[SampleSeries], one: &SampleSeries) -> Vec<RoundTripSeries> {
    let other = |name: &str| beside(series, one, name);
    let (clients, sizes) = (other("client"), other("size"));
    let at = other("at").map(seconds);
    let mut all: Vec<RoundTripSeries> = Vec::new();
    for (nth, value) in seconds(one).into_iter().enumerate() {
        let client = clients.map_or(0, |clients| clients.values[nth] as u32);
        let size_bytes = sizes.map(|sizes| sizes.values[nth]);
        let is_same =
            |known: &RoundTripSeries| known.client == client && known.size_bytes == size_bytes;
        // Messages of one connection and size are adjacent: the last series is the likeliest.
        let position = all.iter().rposition(is_same).unwrap_or_else(|| {
            all.push(RoundTripSeries {
                flow: one.flow,
                client,
                size_bytes,
                ..RoundTripSeries::default()
            });
            all.len() - 1
        });
        all[position].values_s.push(value);
        if let Some(at) = &at {
            all[position].at_s.push(at[nth]);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(flow: u32, name: &str, values: &[f64]) -> SampleSeries {
        SampleSeries {
            flow,
            name: name.to_owned(),
            unit: if name.starts_with("at") { "s" } else { "ns" }.to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn round_trips_are_separated_by_connection_and_size() {
        let of_run = [
            series(0, "rtt 1 B", &[1e3, 2e3]),
            series(0, "rtt 64 B", &[3e3]),
            series(1, "rtt 1 B", &[4e3]),
            series(0, "first", &[9e3, 8e3]),
        ];
        let trips = round_trip_series(&of_run);
        let separated: Vec<_> = trips
            .iter()
            .map(|one| (one.client, one.size_bytes, one.first_s))
            .collect();
        assert_eq!(
            separated,
            [
                (0, Some(1.0), Some(9e3 * 1e-9)),
                (0, Some(64.0), Some(8e3 * 1e-9)),
                (1, Some(1.0), None)
            ]
        );
        let of_trial = [
            series(2, "rtt", &[1e3, 2e3, 3e3]),
            series(2, "client", &[0.0, 1.0, 0.0]),
            series(2, "size", &[64.0, 64.0, 64.0]),
            series(2, "at", &[0.0, 0.0, 0.5]),
        ];
        let trips = round_trip_series(&of_trial);
        assert_eq!(trips.len(), 2);
        assert_eq!(
            (trips[0].flow, trips[0].at_s.as_slice()),
            (2, &[0.0, 0.5][..])
        );
    }
}
