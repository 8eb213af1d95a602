//! The first round trips of each connection.

use crate::export::figures::selection::{MAX_PANELS, MAX_SERIES, label, left_out, spread};
use crate::export::figures::study_material::{StudyMaterial, cases_with_echoes, echo_flows};
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording::about;
use crate::round_trip_series::{RoundTripSeries, round_trip_series};
use caudal_core::quantity::Unit;
use caudal_experiment::FigureFile;
use caudal_experiment::findings::CaseFindings;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use caudal_stats::median;

/// The number of first round trips drawn.
const FIRST: usize = 10;

/// The first round trips of each connection.
pub fn first_group(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let able = cases_with_echoes(material, cases);
    let (picked, more) = spread(&able, MAX_PANELS);
    let figures: Vec<CaptionedFigure> = picked
        .iter()
        .filter_map(|case| {
            let (trial, how) = material.typical(case)?;
            let numbers: Vec<u32> = echo_flows(trial).iter().map(|one| one.0).collect();
            let series = round_trip_series(&(material.series)(&trial.id));
            let series: Vec<RoundTripSeries> = series
                .into_iter()
                .filter(|one| numbers.contains(&one.flow))
                .collect();
            let mut drawn = first_figure(&label(case), &series)?;
            drawn.name = format!("first {}", label(case));
            drawn.source = Some(how);
            Some(drawn)
        })
        .collect();
    let notes = left_out(figures.len(), more, "cases").into_iter().collect();
    FigureGroup {
        title: figure.title.clone(),
        figures,
        notes,
    }
}

/// The first ten round trips of each series.
#[must_use]
pub fn first_figure(title: &str, series: &[RoundTripSeries]) -> Option<CaptionedFigure> {
    let several_sizes = series
        .windows(2)
        .any(|pair| pair[0].size_bytes != pair[1].size_bytes);
    // The first message is added where it was recorded separately.
    let usable: Vec<(&RoundTripSeries, Vec<f64>)> = series
        .iter()
        .map(|one| {
            let all = one.first_s.iter().chain(&one.values_s).copied();
            (one, all.take(FIRST).collect::<Vec<f64>>())
        })
        .filter(|(_, values)| values.len() > 1)
        .collect();
    let layers: Vec<Layer> = usable
        .iter()
        .take(MAX_SERIES)
        .enumerate()
        .map(|(nth, (one, values))| {
            let size = one
                .size_bytes
                .filter(|_| several_sizes)
                .map(|size| format!(", {}", Unit::Bytes.show(size)));
            Layer::Line {
                name: format!("connection {}{}", nth + 1, size.unwrap_or_default()),
                points: (1..).map(f64::from).zip(values.iter().copied()).collect(),
            }
        })
        .collect();
    if layers.is_empty() {
        return None;
    }
    let values: Vec<Vec<f64>> = usable.into_iter().map(|(_, values)| values).collect();
    let caption = first_caption(&values)?;
    let figure = Figure {
        title: title.to_owned(),
        description: "The first round trips in their order, a line each.".to_owned(),
        x: Axis::linear("number of the message", AxisQuantity::Number),
        y: Axis::linear("round-trip time", AxisQuantity::Seconds).from_zero(),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    Some(CaptionedFigure::new("first", figure, caption))
}

/// The median of the first round trips beside that of the later ones, in words.
fn first_caption(connections: &[Vec<f64>]) -> Option<String> {
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for values in connections {
        first.extend(values.first());
        later.extend(values.iter().skip(1));
    }
    let (start, rest) = (median(&first)?, median(&later)?);
    let times_longer = start / rest;
    let mut caption = if (0.9..=1.1).contains(&times_longer) {
        format!(
            "The first round trip takes as long as those after it ({}).",
            about(rest, Unit::Seconds)
        )
    } else {
        format!(
            "The first round trip takes {}, {} times the median of those after it ({}).",
            about(start, Unit::Seconds),
            about(times_longer, Unit::Ratio),
            about(rest, Unit::Seconds)
        )
    };
    let more = connections.len().saturating_sub(MAX_SERIES);
    if more > 0 {
        caption += &format!(" {more} more are counted in, but not drawn.");
    }
    Some(caption)
}
