//! The round trips of a probe beside a load.

use crate::echo::{EchoSeries, Reply};

/// The round trips of a scheduled echo that were due from `from_ns` on, µs.
pub(super) fn echo_trips(series: &EchoSeries, from_ns: u64) -> Vec<Option<f64>> {
    series
        .departures
        .iter()
        .zip(&series.replies)
        .filter(|(departure, _)| departure.intended_ns >= from_ns)
        .map(|(_, reply)| reply_us(*reply))
        .collect()
}

fn reply_us(reply: Reply) -> Option<f64> {
    reply.ns().map(|ns| ns as f64 / 1e3)
}
