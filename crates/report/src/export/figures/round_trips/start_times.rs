//! The times at which round trips began.

use crate::round_trip_series::{RoundTripSeries, round_trip_series};
use caudal_core::plan::EchoSchedule;
use caudal_experiment::TrialFlow;
use caudal_store::SampleSeries;

/// Each round trip of an echo flow with its start, s: as recorded, by its schedule, or one after the other.
pub fn timed_round_trips(
    number: u32,
    flow: &TrialFlow,
    series: &[SampleSeries],
) -> Option<Vec<(f64, f64)>> {
    let offset = flow.offset_s.unwrap_or(0.0);
    let trips = round_trip_series(series);
    let of_flow: Vec<&RoundTripSeries> = trips.iter().filter(|one| one.flow == number).collect();
    let is_recorded = |one: &&RoundTripSeries| one.at_s.len() == one.values_s.len();
    if of_flow.iter().all(is_recorded) && !of_flow.is_empty() {
        return recorded(&of_flow, offset);
    }
    let [only] = of_flow.as_slice() else {
        // The order among several connections is unknown.
        return None;
    };
    let values = &only.values_s;
    let plan = flow.run.as_ref()?.plan.rtt()?;
    if plan.clients.is_some_and(|clients| clients > 1) {
        return None;
    }
    if let Some(EchoSchedule::Every { period, poisson }) = plan.schedule {
        let at = (0..values.len()).map(|nth| offset + nth as f64 * period.as_nanos() as f64 / 1e9);
        return (!poisson).then(|| at.zip(values.iter().copied()).collect());
    }
    one_after_the_other(values, offset)
}

/// Each round trip of a run with its start, s: as recorded, or those of its only connection one after the other. `None` where the times
/// are not known.
pub fn round_trips_of_run(trips: &[RoundTripSeries]) -> Option<Vec<(f64, f64)>> {
    let all: Vec<&RoundTripSeries> = trips.iter().collect();
    let is_recorded = |one: &RoundTripSeries| one.at_s.len() == one.values_s.len();
    if !trips.is_empty() && trips.iter().all(is_recorded) {
        return recorded(&all, 0.0);
    }
    match trips {
        [only] => one_after_the_other(&only.values_s, 0.0),
        _ => None,
    }
}

/// The round trips whose start was recorded, in the order of time.
fn recorded(series: &[&RoundTripSeries], offset: f64) -> Option<Vec<(f64, f64)>> {
    let mut all: Vec<(f64, f64)> = series
        .iter()
        .flat_map(|one| one.at_s.iter().zip(&one.values_s))
        .map(|(at, value)| (offset + at, *value))
        .filter(|point| point.0.is_finite())
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!all.is_empty()).then_some(all)
}

/// The round trips of stop and wait: each message leaves when the reply to the one before has arrived; after a lost one this is
/// unknown.
fn one_after_the_other(values: &[f64], offset: f64) -> Option<Vec<(f64, f64)>> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut now = offset;
    let each = values.iter().map(|value| {
        let at = now;
        now += value;
        (at, *value)
    });
    Some(each.collect())
}
