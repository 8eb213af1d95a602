//! The layers of a sweep: observed and expected values, the solo baseline, and the onset of starvation.

use super::series::SweptSeries;
use crate::export::figures::by_case::case_axes::drawn_interval;
use crate::export::figures::by_case::metrics::ExpectedValue;
use crate::export::figures::study_material::StudyMaterial;
use crate::export::wording::{self, about};
use caudal_core::quantity::Unit;
use caudal_plot::Layer;

/// Maximum number of series that get an expected line of their own.
const MAX_EXPECTED: usize = 3;

/// The observed means of a series with their intervals; NaN where nothing was observed.
pub fn observed_layer(series: &SweptSeries<'_>) -> Layer {
    let points = series.points.iter().map(|(at, known)| {
        (
            *at,
            known.observed.map_or(f64::NAN, |estimate| estimate.mean),
            drawn_interval(&series.metric, known),
        )
    });
    Layer::Intervals {
        name: series.name.clone(),
        points: points.collect(),
    }
}

/// The predicted, simulated and published values, once where they are the same for every series.
pub fn expected_layers(series: &[SweptSeries<'_>]) -> Vec<Layer> {
    let mut layers = expected_lines("predicted", |one| one.predicted, series);
    layers.extend(expected_lines("simulated", |one| one.simulated, series));
    let published: Vec<(f64, f64)> = series
        .iter()
        .flat_map(|one| &one.points)
        .filter_map(|(at, known)| Some((*at, known.published?)))
        .collect();
    if !published.is_empty() {
        layers.push(Layer::Points {
            name: "published".to_owned(),
            points: published,
        });
    }
    layers
}

/// The lines of an expected value: one where it is the same for every series, else one each for a few series.
fn expected_lines(name: &str, value: ExpectedValue, series: &[SweptSeries<'_>]) -> Vec<Layer> {
    let lines: Vec<Vec<(f64, f64)>> = series
        .iter()
        .map(|one| {
            let points = one.points.iter();
            points
                .filter_map(|(at, known)| Some((*at, value(known)?)))
                .collect()
        })
        .collect();
    let is_same = lines.windows(2).all(|pair| pair[0] == pair[1]);
    if is_same && let Some(points) = lines.first().filter(|points| !points.is_empty()) {
        return vec![Layer::Line {
            name: name.to_owned(),
            points: points.clone(),
        }];
    }
    if series.len() > MAX_EXPECTED {
        return Vec::new();
    }
    series
        .iter()
        .zip(lines)
        .filter(|(_, points)| !points.is_empty())
        .map(|(one, points)| Layer::Line {
            name: format!("{name}: {}", one.name),
            points,
        })
        .collect()
}

/// The solo baseline, where all series are of one flow with one baseline.
pub fn solo_baseline(
    material: &StudyMaterial<'_>,
    series: &[SweptSeries<'_>],
    unit: Unit,
) -> Option<Layer> {
    let metric = &series.first()?.metric;
    if series.iter().any(|one| one.metric != *metric) {
        return None;
    }
    let flow = wording::parts(metric).0;
    let mut baselines = material
        .findings
        .cases
        .iter()
        .filter(|case| case.alone.as_deref() == Some(flow));
    let value = baselines.next()?.metrics.get(metric)?.observed?.mean;
    if baselines.next().is_some() {
        return None;
    }
    Some(Layer::Rule {
        at: value,
        label: format!("{flow} alone: {}", about(value, unit)),
    })
}

/// The load at which starvation begins, where the figure has one group of cases.
pub fn starvation_onset(
    material: &StudyMaterial<'_>,
    series: &[SweptSeries<'_>],
    over: &str,
) -> Option<Layer> {
    let victim = wording::parts(&series.first()?.metric).0;
    let mut groups = material
        .findings
        .contention
        .iter()
        .filter(|one| one.load == over && one.victim == victim);
    let (only, none) = (groups.next()?, groups.next());
    let step = only
        .steps
        .iter()
        .find(|step| Some(step.value) == only.begins)?;
    (none.is_none() && series.len() == 1).then(|| Layer::Event {
        at: step.value,
        label: format!("starves from {} on", step.load),
    })
}
