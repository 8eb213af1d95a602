//! The payload that arrived during a bulk transfer as series for the store.

use caudal_core::arrivals::ArrivalSeries;
use caudal_core::plan::Direction;
use caudal_store::SampleSeries;

/// The readings of each direction as the store keeps them: `arrived up` with the bytes since the reading before, and `arrived up at` with
/// the times of the readings, ns after the start.
pub(crate) fn arrival_series(arrivals: &[ArrivalSeries]) -> Vec<SampleSeries> {
    let of_direction = |one: &ArrivalSeries| {
        let rates = one.rates(0.0, f64::INFINITY);
        let flow = match one.direction() {
            Direction::Up => 0,
            Direction::Down => 1,
        };
        let series = |name: String, unit: &str, values: Vec<f64>| SampleSeries {
            flow,
            name,
            unit: unit.to_owned(),
            values,
        };
        let name = format!("arrived {}", one.direction().name());
        [
            series(
                format!("{name} at"),
                "ns",
                rates
                    .iter()
                    .map(|rate| (rate.end_s * 1e9).round())
                    .collect(),
            ),
            series(
                name,
                "B",
                rates.iter().map(|rate| rate.bytes as f64).collect(),
            ),
        ]
    };
    arrivals.iter().flat_map(of_direction).collect()
}
