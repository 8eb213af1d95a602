//! Boxes of a metric by case.

use super::case_axes::{MAX_DOTS, case_axes};
use crate::export::figures::selection::label;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about};
use caudal_experiment::findings::{CaseFindings, MetricFindings};
use caudal_plot::{Axis, Figure, FiveNumbers, Layer};
use caudal_stats::{median, quantile};

/// Boxes of the values of a metric in each trial, by case; `None` where no case has a value.
pub fn boxes_figure(
    metric: &str,
    known: &[(&CaseFindings, &MetricFindings)],
) -> Option<CaptionedFigure> {
    let known: Vec<(&CaseFindings, &MetricFindings)> = known
        .iter()
        .copied()
        .filter(|(_, one)| one.values.iter().any(|value| value.is_finite()))
        .collect();
    let (_, first) = known.first()?;
    let caption = boxes_caption(metric, &known)?;
    let boxes: Vec<FiveNumbers> = known
        .iter()
        .enumerate()
        .filter_map(|(nth, (_, one))| box_at(nth, &one.values))
        .collect();
    let names: Vec<String> = known.iter().map(|(case, _)| label(case)).collect();
    let value = Axis::linear(&wording::metric(metric), wording::quantity(first.unit));
    let (x, y, size) = case_axes(names, value, 1);
    let figure = Figure {
        title: wording::metric(metric),
        description: format!(
            "Boxes of {} by case: quartiles, whiskers to the last values within 1.5 times the box, a dot each trial.",
            wording::metric(metric)
        ),
        x,
        y,
        layers: vec![Layer::Boxes {
            name: "trials".to_owned(),
            boxes,
        }],
        size,
        note: None,
    };
    Some(CaptionedFigure::new(metric, figure, caption))
}

/// The box at a place of the axis, with a dot for each of a few values.
fn box_at(place: usize, values: &[f64]) -> Option<FiveNumbers> {
    let mut five = FiveNumbers::from_samples(place as f64, values)?;
    if values.len() <= MAX_DOTS {
        five.samples = values.to_vec();
    }
    Some(five)
}

/// The least and the greatest median, and the number of trials, in words.
fn boxes_caption(metric: &str, known: &[(&CaseFindings, &MetricFindings)]) -> Option<String> {
    let unit = wording::unit(known.first()?.1.unit);
    let medians: Vec<(&CaseFindings, f64)> = known
        .iter()
        .filter_map(|(case, one)| Some((*case, median(&one.values)?)))
        .collect();
    let min = medians.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let max = medians.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let trials = trial_count(known)?;
    Some(if medians.len() > 1 {
        format!(
            "The median of {} is least in {} ({}) and greatest in {} ({}); {trials} a case.",
            wording::metric(metric),
            label(min.0),
            about(min.1, unit),
            label(max.0),
            about(max.1, unit)
        )
    } else {
        format!(
            "The median of {} is {}; {trials}.",
            wording::metric(metric),
            about(min.1, unit)
        )
    })
}

/// The number of trials of each case, or its range.
fn trial_count(known: &[(&CaseFindings, &MetricFindings)]) -> Option<String> {
    let counts: Vec<f64> = known
        .iter()
        .map(|(_, one)| one.values.len() as f64)
        .collect();
    let (min, max) = (quantile(&counts, 0.0)?, quantile(&counts, 1.0)?);
    Some(if min == max {
        wording::count(max as u64, "trial")
    } else {
        format!("{min} to {max} trials")
    })
}
