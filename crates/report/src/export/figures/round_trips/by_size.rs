//! Round-trip time by message size.

use super::time_axis::time_axis;
use crate::export::figures::selection::{MAX_SERIES, label, left_out};
use crate::export::figures::study_material::{StudyMaterial, echo_flows};
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording::{self, about, sentence};
use crate::size_results::{SizeResult, size_results};
use caudal_core::quantity::Unit;
use caudal_experiment::FigureFile;
use caudal_experiment::findings::CaseFindings;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use caudal_stats::{Estimate, IntervalMethod, mean_of_trials};

/// Round-trip time by message size, a series for each case that differs in more than the size.
pub fn by_size_group(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let mut series: Vec<(String, Vec<SizeResult>)> = Vec::new();
    for case in cases {
        let sizes = trials_by_size(material, case);
        let has_one_size = sizes.len() == 1;
        let name = if has_one_size {
            without_size(case, sizes[0].0)
        } else {
            label(case)
        };
        let points: Vec<SizeResult> = sizes
            .into_iter()
            .filter_map(|(_, trials)| over_trials(&trials, material.findings.confidence))
            .collect();
        if points.is_empty() {
            continue;
        }
        match series.iter_mut().find(|one| one.0 == name && has_one_size) {
            Some(one) => one.1.extend(points),
            None => series.push((name, points)),
        }
    }
    for one in &mut series {
        one.1.sort_by(|a, b| a.size_bytes.total_cmp(&b.size_bytes));
    }
    let more = series.len().saturating_sub(MAX_SERIES);
    series.truncate(MAX_SERIES);
    let notes = left_out(series.len(), more, "series").into_iter().collect();
    let drawn = sizes_figure(&figure.title, &series);
    FigureGroup {
        title: figure.title.clone(),
        figures: drawn.into_iter().collect(),
        notes,
    }
}

/// The message sizes of a case in bytes, each with its result in each trial.
fn trials_by_size(
    material: &StudyMaterial<'_>,
    case: &CaseFindings,
) -> Vec<(f64, Vec<SizeResult>)> {
    let mut sizes: Vec<(f64, Vec<SizeResult>)> = Vec::new();
    for trial in material.trials_of(case) {
        for (_, flow) in echo_flows(trial) {
            for one in flow.run.as_ref().map(size_results).unwrap_or_default() {
                match sizes.iter_mut().find(|known| known.0 == one.size_bytes) {
                    Some(known) => known.1.push(one),
                    None => sizes.push((one.size_bytes, vec![one])),
                }
            }
        }
    }
    sizes
}

/// The name of a case without the parameter that is its message size.
fn without_size(case: &CaseFindings, size: f64) -> String {
    let others: Vec<String> = case
        .parameters
        .iter()
        .filter(|(_, value)| value.number() != Some(size))
        .map(|(_, value)| value.to_string())
        .collect();
    if others.is_empty() {
        "observed".to_owned()
    } else {
        others.join(", ")
    }
}

/// The result of a size over all trials: of several the mean of their means, of one its own interval.
fn over_trials(trials: &[SizeResult], confidence: f64) -> Option<SizeResult> {
    let [first, ..] = trials else {
        return None;
    };
    if trials.len() == 1 {
        return Some(first.clone());
    }
    let means: Vec<f64> = trials.iter().map(|one| one.mean_s).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let estimate: Option<Estimate> = mean_of_trials(&means, confidence);
    let firsts: Vec<f64> = trials.iter().filter_map(|one| one.first_s).collect();
    Some(SizeResult {
        mean_s: mean,
        interval: estimate
            .filter(|one| one.method != IntervalMethod::SingleValue)
            .map(|one| (one.low, one.high)),
        n: trials.iter().map(|one| one.n).sum(),
        first_s: (!firsts.is_empty()).then(|| firsts.iter().sum::<f64>() / firsts.len() as f64),
        ..first.clone()
    })
}

/// Means by size with their intervals, and the predicted times.
#[must_use]
pub fn sizes_figure(title: &str, series: &[(String, Vec<SizeResult>)]) -> Option<CaptionedFigure> {
    if series.iter().all(|one| one.1.is_empty()) {
        return None;
    }
    let mut layers: Vec<Layer> = predicted_line(series).into_iter().collect();
    layers.extend(series.iter().map(|(name, sizes)| {
        Layer::Intervals {
            name: name.clone(),
            points: sizes
                .iter()
                .map(|one| (one.size_bytes, one.mean_s, one.interval))
                .collect(),
        }
    }));
    let caption: Vec<String> = series
        .iter()
        .filter_map(|(name, sizes)| size_range(name, sizes))
        .chain(furthest_from_prediction(series))
        .map(|text| sentence(&text))
        .collect();
    let all = series.iter().flat_map(|one| &one.1);
    let figure = Figure {
        title: title.to_owned(),
        description: "Mean round-trip time by message size, with intervals of the mean.".to_owned(),
        x: Axis::log("message size", AxisQuantity::Bytes),
        y: time_axis("mean round-trip time", all.map(|one| one.mean_s)),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    Some(CaptionedFigure::new("sizes", figure, caption.join(" ")))
}

/// The results that have a prediction, with it, s.
fn with_prediction(
    series: &[(String, Vec<SizeResult>)],
) -> impl Iterator<Item = (&SizeResult, f64)> {
    series.iter().flat_map(|one| &one.1).filter_map(|one| {
        let predicted = one.predicted_s.filter(|predicted| *predicted > 0.0)?;
        Some((one, predicted))
    })
}

/// The line of the predicted times, the first for each size.
fn predicted_line(series: &[(String, Vec<SizeResult>)]) -> Option<Layer> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (one, predicted) in with_prediction(series) {
        if !points.iter().any(|point| point.0 == one.size_bytes) {
            points.push((one.size_bytes, predicted));
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then(|| Layer::Line {
        name: "predicted".to_owned(),
        points,
    })
}

/// The mean round trip of a series with its first size and with its last, in words.
fn size_range(name: &str, sizes: &[SizeResult]) -> Option<String> {
    let (first, last) = (sizes.first()?, sizes.last()?);
    Some(if sizes.len() == 1 {
        format!(
            "{name}: {} at {}",
            about(first.mean_s, Unit::Seconds),
            Unit::Bytes.show(first.size_bytes)
        )
    } else {
        format!(
            "{name}: the mean round trip goes from {} at {} to {} at {}",
            about(first.mean_s, Unit::Seconds),
            Unit::Bytes.show(first.size_bytes),
            about(last.mean_s, Unit::Seconds),
            Unit::Bytes.show(last.size_bytes)
        )
    })
}

/// The size whose mean differs most from its prediction, in words; of equal differences the first.
fn furthest_from_prediction(series: &[(String, Vec<SizeResult>)]) -> Option<String> {
    let (size, difference) = with_prediction(series)
        .map(|(one, predicted)| (one.size_bytes, one.mean_s / predicted - 1.0))
        .reduce(|furthest, other| {
            if other.1.abs() > furthest.1.abs() {
                other
            } else {
                furthest
            }
        })?;
    Some(format!(
        "furthest from the prediction is {} ({})",
        Unit::Bytes.show(size),
        wording::percent(difference)
    ))
}
