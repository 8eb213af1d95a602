//! Boxes of round trips by message size.

use super::time_axis::{thinned, time_axis};
use crate::export::figures::selection::spread;
use crate::export::page::CaptionedFigure;
use crate::export::wording::about;
use crate::round_trip_series::RoundTripSeries;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, Figure, FiveNumbers, Layer};
use caudal_stats::median;

/// Maximum number of outliers drawn of a box.
const MAX_OUTLIERS: usize = 60;

/// Boxes of round trips by message size.
#[must_use]
pub fn box_figure(title: &str, trips: &[RoundTripSeries]) -> Option<CaptionedFigure> {
    let sizes = times_by_size(trips)?;
    let (smallest, largest) = (sizes.first()?, sizes.last()?);
    let caption = format!(
        "Half of the round trips take at most {} with {}, and {} with {}.",
        about(median(&smallest.1)?, Unit::Seconds),
        Unit::Bytes.show(smallest.0),
        about(median(&largest.1)?, Unit::Seconds),
        Unit::Bytes.show(largest.0)
    );
    let boxes: Vec<FiveNumbers> = sizes
        .iter()
        .enumerate()
        .filter_map(|(nth, (_, times))| box_at(nth, times))
        .collect();
    let names = sizes.iter().map(|one| Unit::Bytes.show(one.0)).collect();
    let all = sizes.iter().flat_map(|one| one.1.iter().copied());
    let figure = Figure {
        title: title.to_owned(),
        description: "Boxes of round-trip times by message size: quartiles, whiskers, and what lies beyond as dots."
            .to_owned(),
        x: Axis::categories("message size", names),
        y: time_axis("round-trip time", all),
        layers: vec![Layer::Boxes {
            name: "round trips".to_owned(),
            boxes,
        }],
        size: Figure::SIZE,
        note: None,
    };
    Some(CaptionedFigure::new("boxes", figure, caption))
}

/// The message sizes in bytes, ascending, each with its round-trip times in s; `None` where a size is unknown.
fn times_by_size(trips: &[RoundTripSeries]) -> Option<Vec<(f64, Vec<f64>)>> {
    let mut sizes: Vec<(f64, Vec<f64>)> = Vec::new();
    for one in trips {
        let size = one.size_bytes?;
        let values = one
            .values_s
            .iter()
            .copied()
            .filter(|value| value.is_finite());
        match sizes.iter_mut().find(|known| known.0 == size) {
            Some(known) => known.1.extend(values),
            None => sizes.push((size, values.collect())),
        }
    }
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    sizes.retain(|one| !one.1.is_empty());
    Some(sizes)
}

/// The box at a place of the axis: of very many outliers the furthest and some between.
fn box_at(place: usize, times: &[f64]) -> Option<FiveNumbers> {
    let mut five = FiveNumbers::from_samples(place as f64, times)?;
    if five.samples.len() > MAX_OUTLIERS {
        five.samples = spread(&thinned(&five.samples), MAX_OUTLIERS).0;
    }
    Some(five)
}
