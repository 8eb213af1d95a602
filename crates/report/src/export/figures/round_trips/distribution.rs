//! The distribution of round trips.

use super::time_axis::{thinned, time_axis};
use crate::export::figures::selection::{MAX_SERIES, label, left_out, spread};
use crate::export::figures::study_material::{StudyMaterial, cases_with_echoes, echo_flows};
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording::{self, about, sentence};
use crate::round_trip_series::round_trip_series;
use crate::size_results::size_results;
use caudal_core::quantity::Unit;
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{FigureFile, Trial, TrialFlow};
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use caudal_stats::{median, quantile};

/// Minimum number of samples with which the 99th percentile is given: below it, their maximum is less than the 99th percentile
/// with a probability above 5 % (0.99^299 = 0.0495).
const MIN_SAMPLES_OF_TAIL: usize = 299;

/// The round trips of several trials by the name of their line.
#[derive(Default)]
struct PooledRoundTrips {
    /// The times, s.
    samples: Vec<(String, Vec<f64>)>,
    /// Time in s and share of the quantiles, for flows without samples.
    quantiles: Vec<(String, Vec<(f64, f64)>)>,
    /// The number of trials with samples.
    trials: usize,
}

impl PooledRoundTrips {
    /// Adds the round trips of a trial; `cases` is the number of cases drawn.
    fn add(
        &mut self,
        material: &StudyMaterial<'_>,
        case: &CaseFindings,
        trial: &Trial,
        cases: usize,
    ) {
        let series = round_trip_series(&(material.series)(&trial.id));
        let flows = echo_flows(trial);
        let mut has_samples = false;
        for (number, flow) in &flows {
            let name = line_name(case, flow, flows.len() > 1, cases);
            let values: Vec<f64> = series
                .iter()
                .filter(|one| one.flow == *number)
                .flat_map(|one| &one.values_s)
                .copied()
                .filter(|value| value.is_finite())
                .collect();
            if values.is_empty() {
                self.add_quantiles(name, flow);
                continue;
            }
            has_samples = true;
            match self.samples.iter_mut().find(|one| one.0 == name) {
                Some(one) => one.1.extend(values),
                None => self.samples.push((name, values)),
            }
        }
        self.trials += usize::from(has_samples);
    }

    /// Adds the quantiles in the summary of a flow that has messages of one size.
    fn add_quantiles(&mut self, name: String, flow: &TrialFlow) {
        let sizes = flow.run.as_ref().map(size_results).unwrap_or_default();
        let is_known = self.quantiles.iter().any(|known| known.0 == name);
        if let ([one], false) = (sizes.as_slice(), is_known) {
            let points = one.quantiles.iter().map(|(share, at)| (*at, *share));
            self.quantiles.push((name, points.collect()));
        }
    }
}

/// The distribution of round trips, a line a case and echo flow.
pub fn distribution_group(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let able = cases_with_echoes(material, cases);
    let (picked, more) = spread(&able, MAX_SERIES);
    let mut pooled = PooledRoundTrips::default();
    for case in &picked {
        for trial in material.trials_of(case) {
            pooled.add(material, case, trial, picked.len());
        }
    }
    let PooledRoundTrips {
        samples,
        mut quantiles,
        trials,
    } = pooled;
    quantiles.retain(|one| !samples.iter().any(|other| other.0 == one.0));
    let note = (trials > 1).then(|| "Round trips of all trials of a case are pooled.".to_owned());
    let drawn = cdf_figure(&figure.title, &samples, &quantiles);
    FigureGroup {
        title: figure.title.clone(),
        figures: drawn.into_iter().collect(),
        notes: left_out(picked.len(), more, "cases")
            .into_iter()
            .chain(note)
            .collect(),
    }
}

/// The name of a flow's line: the case where several are drawn, and the flow where the trial has several.
fn line_name(case: &CaseFindings, flow: &TrialFlow, several: bool, cases: usize) -> String {
    match (cases > 1, several) {
        (true, true) => format!("{}, {}", label(case), flow.name),
        (true, false) => label(case),
        (false, _) => flow.name.clone(),
    }
}

/// Samples as a distribution; of those that are known by a few quantiles only, these as dots.
#[must_use]
pub fn cdf_figure(
    title: &str,
    samples: &[(String, Vec<f64>)],
    known: &[(String, Vec<(f64, f64)>)],
) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for (name, values) in samples.iter().take(MAX_SERIES) {
        if let Some(text) = samples_sentence(name, values) {
            layers.push(Layer::cdf(name, &thinned(values)));
            sentences.push(text);
        }
    }
    for (name, points) in known.iter().take(MAX_SERIES - layers.len().min(MAX_SERIES)) {
        layers.push(Layer::Points {
            name: name.clone(),
            points: points.clone(),
        });
        sentences.extend(quantiles_sentence(name, points));
    }
    if layers.is_empty() {
        return None;
    }
    let times = samples.iter().flat_map(|one| one.1.iter().copied());
    let known_times = known
        .iter()
        .flat_map(|one| one.1.iter().map(|point| point.0));
    let figure = Figure {
        title: title.to_owned(),
        description: "The share of round trips that took at most so long.".to_owned(),
        x: time_axis("round-trip time", times.chain(known_times)),
        y: Axis::linear("part of the round trips", AxisQuantity::Percent).including(&[0.0, 1.0]),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    // A sentence for each of many would not be read.
    let caption = match median_range(samples) {
        Some(text) if sentences.len() > 3 => text,
        _ => sentences.join(" "),
    };
    Some(CaptionedFigure::new("distribution", figure, caption))
}

/// The median of a line and, where there are samples enough, its 99th percentile; `None` without samples.
fn samples_sentence(name: &str, values: &[f64]) -> Option<String> {
    let (half, most) = (median(values)?, quantile(values, 0.99)?);
    let tail = if values.len() >= MIN_SAMPLES_OF_TAIL {
        format!(", 99 % within {}", about(most, Unit::Seconds))
    } else {
        String::new()
    };
    Some(sentence(&format!(
        "of {} of {name} half come back within {}{tail}",
        wording::count(values.len() as u64, "round trip"),
        about(half, Unit::Seconds)
    )))
}

/// The median of a line of which a few quantiles are known, where it is among them.
fn quantiles_sentence(name: &str, points: &[(f64, f64)]) -> Option<String> {
    let (at, _) = points.iter().find(|point| point.1 == 0.5)?;
    Some(sentence(&format!(
        "half of {name} come back within {} (dots: only the percentiles were recorded)",
        about(*at, Unit::Seconds)
    )))
}

/// The range of the medians of many distributions.
fn median_range(samples: &[(String, Vec<f64>)]) -> Option<String> {
    let medians: Vec<(&str, f64)> = samples
        .iter()
        .filter_map(|(name, values)| Some((name.as_str(), median(values)?)))
        .collect();
    let least = medians.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = medians.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "The median round trip is shortest with {} ({}) and longest with {} ({}).",
        least.0,
        about(least.1, Unit::Seconds),
        most.0,
        about(most.1, Unit::Seconds)
    ))
}
