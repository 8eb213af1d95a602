//! The caption of a sweep: the change of each series from its first point to its last, in words.

use super::parameter::SweptParameter;
use super::series::SweptSeries;
use crate::export::wording::{self, about, sentence};
use caudal_core::quantity::Unit;

/// The caption of a sweep: a sentence for each series.
pub fn sweep_caption(
    series: &[SweptSeries<'_>],
    parameter: &SweptParameter<'_>,
    unit: Unit,
) -> String {
    let sentences: Vec<String> = series
        .iter()
        .filter_map(|one| change_sentence(one, parameter, unit))
        .collect();
    if sentences.is_empty() {
        "No trial could tell.".to_owned()
    } else {
        sentences.join(" ")
    }
}

/// The change of a series from its first point to its last, in words; `None` where nothing was observed.
fn change_sentence(
    series: &SweptSeries<'_>,
    parameter: &SweptParameter<'_>,
    unit: Unit,
) -> Option<String> {
    let name = &series.name;
    let points = series.observed();
    let (first, last) = (points.first()?, points.last()?);
    if points.len() == 1 {
        return Some(sentence(&format!(
            "{name} is {} at {} {}",
            about(first.1, unit),
            wording::metric(parameter.name),
            parameter.text_at(first.0)
        )));
    }
    let min = points.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let max = points.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let range = format!(
        "as {} goes from {} to {}",
        wording::metric(parameter.name),
        parameter.text_at(first.0),
        parameter.text_at(last.0)
    );
    let scale = max.1.abs().max(min.1.abs());
    let is_level = (last.1 - first.1).abs() <= 0.05 * scale;
    if is_level && max.1 - min.1 <= 0.1 * scale {
        return Some(sentence(&format!(
            "{name} stays near {} {range}",
            about(first.1, unit)
        )));
    }
    let verb = if is_level {
        "goes"
    } else if last.1 > first.1 {
        "rises"
    } else {
        "falls"
    };
    let turn =
        turning_point([*min, *max], *first, *last, 0.1 * scale).map_or_else(String::new, |point| {
            format!(
                ", with {} at {}",
                about(point.1, unit),
                parameter.text_at(point.0)
            )
        });
    Some(sentence(&format!(
        "{name} {verb} from {} {range}{turn}",
        wording::pair(first.1, last.1, unit, "to")
    )))
}

/// The extreme that lies furthest from both ends of a series, where that is more than `min_distance`.
fn turning_point(
    extremes: [(f64, f64); 2],
    first: (f64, f64),
    last: (f64, f64),
    min_distance: f64,
) -> Option<(f64, f64)> {
    extremes
        .into_iter()
        .filter(|point| point.0 != first.0 && point.0 != last.0)
        .map(|point| {
            let distance = (point.1 - first.1).abs().min((point.1 - last.1).abs());
            (point, distance)
        })
        .filter(|(_, distance)| *distance > min_distance)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(point, _)| point)
}
