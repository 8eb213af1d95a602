//! Bars of a metric by case: the observed means beside the expected values.

use super::case_axes::{MAX_DOTS, case_axes, drawn_interval};
use super::metrics::ExpectedValue;
use crate::export::figures::selection::label;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about, sentence};
use caudal_core::quantity::Unit;
use caudal_experiment::findings::{CaseFindings, MetricFindings};
use caudal_plot::{Axis, Bar, Figure, Layer};

/// Bars of a metric by case; `None` where no case has a value.
pub fn bars_figure(
    metric: &str,
    known: &[(&CaseFindings, &MetricFindings)],
) -> Option<CaptionedFigure> {
    let (_, first) = known.first()?;
    let layers = bar_layers(metric, known);
    if layers.is_empty() {
        return None;
    }
    let names: Vec<String> = known.iter().map(|(case, _)| label(case)).collect();
    let value = Axis::linear(&wording::metric(metric), wording::quantity(first.unit)).from_zero();
    let (x, y, size) = case_axes(names, value, layers.len());
    let figure = Figure {
        title: wording::metric(metric),
        description: format!(
            "Bars of {} by case, with intervals.",
            wording::metric(metric)
        ),
        x,
        y,
        layers,
        size,
        note: None,
    };
    let caption = bars_caption(metric, known, wording::unit(first.unit));
    Some(CaptionedFigure::new(metric, figure, caption))
}

/// The predicted, simulated, published and observed values, each where a case has one.
fn bar_layers(metric: &str, known: &[(&CaseFindings, &MetricFindings)]) -> Vec<Layer> {
    let expected = |value: ExpectedValue| -> Vec<Option<Bar>> {
        known
            .iter()
            .map(|(_, one)| value(one).map(Bar::new))
            .collect()
    };
    let observed = known.iter().map(|(_, one)| observed_bar(metric, one));
    [
        ("predicted", expected(|one| one.predicted)),
        ("simulated", expected(|one| one.simulated)),
        ("published", expected(|one| one.published)),
        ("observed", observed.collect()),
    ]
    .into_iter()
    .filter(|(_, bars)| bars.iter().any(Option::is_some))
    .map(|(name, bars)| Layer::Bars {
        name: name.to_owned(),
        bars,
    })
    .collect()
}

/// The observed mean with its interval and, of a few trials, a dot each.
fn observed_bar(metric: &str, findings: &MetricFindings) -> Option<Bar> {
    let estimate = findings.observed?;
    let values = &findings.values;
    Some(Bar {
        value: estimate.mean,
        interval: drawn_interval(metric, findings),
        samples: if values.len() > 1 && values.len() <= MAX_DOTS {
            values.clone()
        } else {
            Vec::new()
        },
    })
}

/// The range of the observed values, and their largest difference from the expected ones.
fn bars_caption(metric: &str, known: &[(&CaseFindings, &MetricFindings)], unit: Unit) -> String {
    let expected: [(&str, ExpectedValue); 3] = [
        ("the prediction", |one| one.predicted),
        ("the simulation", |one| one.simulated),
        ("the published value", |one| one.published),
    ];
    let mut parts = vec![observed_range(metric, known, unit)];
    for (name, value) in expected {
        parts.extend(furthest_from(name, value, known));
    }
    sentence(&parts.join("; "))
}

/// The range of the observed values, with the cases at its ends, in words.
fn observed_range(metric: &str, known: &[(&CaseFindings, &MetricFindings)], unit: Unit) -> String {
    let observed: Vec<(&CaseFindings, f64)> = known
        .iter()
        .filter_map(|(case, one)| Some((*case, one.observed?.mean)))
        .collect();
    let min = observed.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let max = observed.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match (min, max) {
        (Some(min), Some(max)) if observed.len() > 1 && min.1 < max.1 => format!(
            "{} lies between {} ({}) and {} ({})",
            wording::metric(metric),
            about(min.1, unit),
            label(min.0),
            about(max.1, unit),
            label(max.0)
        ),
        (Some(one), _) => format!(
            "{} is {}{}",
            wording::metric(metric),
            about(one.1, unit),
            if observed.len() > 1 {
                " in every case"
            } else {
                ""
            }
        ),
        _ => format!("{} was not observed", wording::metric(metric)),
    }
}

/// The case whose observed value differs most from the expected one, in words.
fn furthest_from(
    name: &str,
    expected: ExpectedValue,
    known: &[(&CaseFindings, &MetricFindings)],
) -> Option<String> {
    let (case, difference) = known
        .iter()
        .filter_map(|(case, one)| {
            let (observed, expected) = (one.observed?.mean, expected(one)?);
            (expected != 0.0).then_some((*case, observed / expected - 1.0))
        })
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    Some(format!(
        "furthest from {name} is {} ({})",
        label(case),
        wording::percent(difference)
    ))
}
