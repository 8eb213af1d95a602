//! The group of a sweep: a figure for each unit among the metrics.

use super::caption::sweep_caption;
use super::layers::{expected_layers, observed_layer, solo_baseline, starvation_onset};
use super::parameter::{SweptParameter, varied_parameters};
use super::series::swept_series;
use crate::export::figures::by_case::metrics::{cases_with_metric, metrics_of_figure};
use crate::export::figures::selection::{MAX_SERIES, left_out};
use crate::export::figures::study_material::StudyMaterial;
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording;
use caudal_experiment::FigureFile;
use caudal_experiment::findings::CaseFindings;
use caudal_plot::{Axis, Figure, Layer};

/// A metric over a parameter: a figure for each unit among the metrics.
pub fn sweep_groups(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Vec<FigureGroup> {
    let metrics = metrics_of_figure(material, figure, cases);
    let Some(over) = figure.over.as_deref().or_else(|| only_varied(cases)) else {
        return vec![FigureGroup {
            title: figure.title.clone(),
            figures: Vec::new(),
            notes: vec!["Not drawn: no parameter is named to draw it over.".to_owned()],
        }];
    };
    let parameter = SweptParameter::from_cases(over, cases);
    let mut figures = Vec::new();
    let mut notes = Vec::new();
    for unit in units(&metrics, cases) {
        if let Some((drawn, note)) =
            sweep_figure(material, figure, &parameter, unit, &metrics, cases)
        {
            figures.push(drawn);
            notes.extend(note);
        }
    }
    vec![FigureGroup {
        title: figure.title.clone(),
        figures,
        notes,
    }]
}

/// The parameter that alone has several values.
fn only_varied<'a>(cases: &[&'a CaseFindings]) -> Option<&'a str> {
    match varied_parameters(cases).as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// The different units of the metrics, in their order.
fn units(metrics: &[String], cases: &[&CaseFindings]) -> Vec<&'static str> {
    let mut units: Vec<&'static str> = Vec::new();
    for metric in metrics {
        let unit = cases_with_metric(cases, metric)
            .first()
            .map(|(_, one)| one.unit);
        if let Some(unit) = unit
            && !units.contains(&unit)
        {
            units.push(unit);
        }
    }
    units
}

/// The figure of the metrics that have a unit, and the note on series that are left out; `None` without series.
fn sweep_figure(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    parameter: &SweptParameter<'_>,
    unit: &'static str,
    metrics: &[String],
    cases: &[&CaseFindings],
) -> Option<(CaptionedFigure, Option<String>)> {
    let mut series = swept_series(parameter, figure.by.as_deref(), unit, metrics, cases);
    let more = series.len().saturating_sub(MAX_SERIES);
    series.truncate(MAX_SERIES);
    if series.is_empty() {
        return None;
    }
    let base = wording::unit(unit);
    let mut layers: Vec<Layer> = expected_layers(&series);
    layers.extend(series.iter().map(observed_layer));
    layers.extend(solo_baseline(material, &series, base));
    layers.extend(starvation_onset(material, &series, parameter.name));
    let positions: Vec<f64> = series
        .iter()
        .flat_map(|one| &one.points)
        .map(|point| point.0)
        .collect();
    let drawn = CaptionedFigure::new(
        &figure.title,
        Figure {
            title: figure.title.clone(),
            description: format!(
                "{} over {}, with intervals.",
                wording::list(metrics),
                parameter.name
            ),
            x: parameter.axis(&positions),
            y: Axis::linear(&value_label(metrics), wording::quantity(unit)).from_zero(),
            layers,
            size: Figure::SIZE,
            note: None,
        },
        sweep_caption(&series, parameter, base),
    );
    Some((drawn, left_out(series.len(), more, "series")))
}

/// The label of the axis of values: the metric or, of several, the last part of their names where it is the same for all.
fn value_label(metrics: &[String]) -> String {
    if let [only] = metrics {
        return wording::metric(only);
    }
    let parts: Vec<&str> = metrics
        .iter()
        .map(|metric| wording::parts(metric).1)
        .collect();
    match parts.first() {
        Some(first) if parts.iter().all(|part| part == first) => wording::metric(first),
        _ => String::new(),
    }
}
