//! Figures of round trips: their distribution, by size, the first of each connection, and over time.

use crate::export::figures::selection::{MAX_PANELS, MAX_SERIES, label, left_out, spread};
use crate::export::figures::study_material::{StudyMaterial, is_load};
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording::sentence;
use crate::export::wording::{self, about};
use crate::quantile::{median, quantile};
use crate::round_trip_series::{RoundTripSeries, round_trip_series};
use crate::size_results::{SizeResult, size_results};
use caudal_core::plan::EchoSchedule;
use caudal_core::quantity::Unit;
use caudal_experiment::FigureFile;
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{Trial, TrialFlow};
use caudal_plot::{Axis, AxisQuantity, Figure, FiveNumbers, Layer, Scale};
use caudal_stats::{Estimate, IntervalMethod, mean_interval};
use caudal_store::SampleSeries;

/// The number of points of a line.
const POINTS: usize = 1000;
/// The number of first round trips drawn.
const FIRST: usize = 10;
/// The maximum number of parts of a band, and the minimum number of samples of each.
const MAX_PARTS: usize = 60;
const MIN_SAMPLES: usize = 20;

/// The echo flows of a trial with their numbers.
fn echoes(trial: &Trial) -> Vec<(u32, &TrialFlow)> {
    let numbered = (0_u32..).zip(&trial.flows);
    numbered.filter(|(_, flow)| !is_load(flow.kind)).collect()
}

/// The cases that have echo flows.
fn with_echoes<'a>(
    material: &StudyMaterial<'_>,
    cases: &[&'a CaseFindings],
) -> Vec<&'a CaseFindings> {
    let has_echoes = |case: &&CaseFindings| {
        let trials = material.trials_of(case);
        trials.iter().any(|trial| !echoes(trial).is_empty())
    };
    cases.iter().copied().filter(has_echoes).collect()
}

fn times(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for value in values.filter(|value| value.is_finite() && *value > 0.0) {
        (least, most) = (least.min(value), most.max(value));
    }
    let scale = if most / least >= 20.0 {
        Scale::Log
    } else {
        Scale::Linear
    };
    Axis::new(label, AxisQuantity::Seconds, scale)
}

/// The distribution of round trips, a line a case and echo flow.
pub fn cdf(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let mut samples: Vec<(String, Vec<f64>)> = Vec::new();
    let mut known: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    let able = with_echoes(material, cases);
    let (picked, more) = spread(&able, MAX_SERIES);
    let mut pooled = 0;
    for case in &picked {
        for trial in material.trials_of(case) {
            let series = round_trip_series(&(material.series)(&trial.id));
            let several = echoes(trial).len() > 1;
            let mut has_samples = false;
            for (number, flow) in echoes(trial) {
                let name = name_of(case, flow, several, picked.len());
                let values = series
                    .iter()
                    .filter(|one| one.flow == number)
                    .flat_map(|one| &one.values_s)
                    .copied()
                    .filter(|value| value.is_finite());
                let values: Vec<f64> = values.collect();
                if values.is_empty() {
                    // Without samples, the points that the summary knows.
                    let sizes = flow.run.as_ref().map(size_results).unwrap_or_default();
                    if let ([one], false) = (sizes.as_slice(), known.iter().any(|k| k.0 == name)) {
                        let points = one.quantiles.iter().map(|(share, at)| (*at, *share));
                        known.push((name, points.collect()));
                    }
                    continue;
                }
                has_samples = true;
                match samples.iter_mut().find(|one| one.0 == name) {
                    Some(one) => one.1.extend(values),
                    None => samples.push((name, values)),
                }
            }
            pooled += usize::from(has_samples);
        }
    }
    known.retain(|one| !samples.iter().any(|other| other.0 == one.0));
    let note = (pooled > 1).then(|| "Round trips of all trials of a case are pooled.".to_owned());
    let drawn = cdf_figure(&figure.title, &samples, &known);
    FigureGroup {
        title: figure.title.clone(),
        figures: drawn.into_iter().collect(),
        notes: left_out(picked.len(), more, "cases")
            .into_iter()
            .chain(note)
            .collect(),
    }
}

fn name_of(case: &CaseFindings, flow: &TrialFlow, several: bool, cases: usize) -> String {
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
        let (Some(half), Some(most)) = (median(values), quantile(values, 0.99)) else {
            continue;
        };
        layers.push(Layer::cdf(name, &thinned(values)));
        // The share below which 99 % lie needs its samples.
        let tail = if values.len() >= 299 {
            format!(", 99 % within {}", about(most, Unit::Seconds))
        } else {
            String::new()
        };
        sentences.push(format!(
            "of {} of {name} half come back within {}{tail}",
            wording::count(values.len() as u64, "round trip"),
            about(half, Unit::Seconds)
        ));
    }
    for (name, points) in known.iter().take(MAX_SERIES - layers.len().min(MAX_SERIES)) {
        layers.push(Layer::Points {
            name: name.clone(),
            points: points.clone(),
        });
        if let Some((at, _)) = points.iter().find(|point| point.1 == 0.5) {
            sentences.push(format!(
                "half of {name} come back within {} (dots: only the percentiles were recorded)",
                about(*at, Unit::Seconds)
            ));
        }
    }
    if layers.is_empty() {
        return None;
    }
    let all = samples.iter().flat_map(|one| one.1.iter().copied());
    let all = all.chain(
        known
            .iter()
            .flat_map(|one| one.1.iter().map(|point| point.0)),
    );
    let figure = Figure {
        title: title.to_owned(),
        description: "The share of round trips that took at most so long.".to_owned(),
        x: times("round-trip time", all),
        y: Axis::linear("part of the round trips", AxisQuantity::Percent).including(&[0.0, 1.0]),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    let caption = sentences
        .iter()
        .map(|one| sentence(one))
        .collect::<Vec<_>>();
    // A sentence for each of many would not be read.
    let caption = match median_range(samples) {
        Some(text) if sentences.len() > 3 => text,
        _ => caption.join(" "),
    };
    Some(CaptionedFigure::new("distribution", figure, caption))
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

/// Of very many samples as many as a line needs, with the first and the last.
#[must_use]
pub fn thinned(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|one| one.is_finite())
        .collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.len() <= 2 * POINTS {
        return sorted;
    }
    let last = sorted.len() - 1;
    (0..=POINTS)
        .map(|nth| sorted[nth * last / POINTS])
        .collect()
}

/// Round-trip time by message size, a series for each case that differs in more than the size.
pub fn sizes(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let mut series: Vec<(String, Vec<SizeResult>)> = Vec::new();
    for case in cases {
        // Values of a size in each trial.
        let mut found: Vec<(f64, Vec<SizeResult>)> = Vec::new();
        for trial in material.trials_of(case) {
            for (_, flow) in echoes(trial) {
                for one in flow.run.as_ref().map(size_results).unwrap_or_default() {
                    match found.iter_mut().find(|known| known.0 == one.size_bytes) {
                        Some(known) => known.1.push(one),
                        None => found.push((one.size_bytes, vec![one])),
                    }
                }
            }
        }
        let alone = found.len() == 1;
        let name = if alone {
            without_size(case, found[0].0)
        } else {
            label(case)
        };
        let points: Vec<SizeResult> = found
            .into_iter()
            .filter_map(|(_, trials)| over_trials(&trials, material.findings.confidence))
            .collect();
        if points.is_empty() {
            continue;
        }
        match series.iter_mut().find(|one| one.0 == name && alone) {
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

/// A size over all trials: of several their means' mean, of one its own interval.
fn over_trials(trials: &[SizeResult], confidence: f64) -> Option<SizeResult> {
    let [first, ..] = trials else {
        return None;
    };
    if trials.len() == 1 {
        return Some(first.clone());
    }
    let means: Vec<f64> = trials.iter().map(|one| one.mean_s).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let estimate: Option<Estimate> = mean_interval(&means, confidence);
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

/// Means by size with their intervals, and what was predicted.
#[must_use]
pub fn sizes_figure(title: &str, series: &[(String, Vec<SizeResult>)]) -> Option<CaptionedFigure> {
    if series.iter().all(|one| one.1.is_empty()) {
        return None;
    }
    let mut layers = Vec::new();
    let mut predicted: Vec<(f64, f64)> = Vec::new();
    let mut sentences = Vec::new();
    let mut furthest: Option<(f64, f64)> = None;
    for (name, sizes) in series {
        for one in sizes {
            let Some(expected) = one.predicted_s.filter(|expected| *expected > 0.0) else {
                continue;
            };
            if !predicted.iter().any(|point| point.0 == one.size_bytes) {
                predicted.push((one.size_bytes, expected));
            }
            let off = one.mean_s / expected - 1.0;
            if furthest.is_none_or(|known| off.abs() > known.1.abs()) {
                furthest = Some((one.size_bytes, off));
            }
        }
        let points = sizes
            .iter()
            .map(|one| (one.size_bytes, one.mean_s, one.interval));
        layers.push(Layer::Intervals {
            name: name.clone(),
            points: points.collect(),
        });
        if let ([first, ..], Some(last)) = (sizes.as_slice(), sizes.last()) {
            sentences.push(if sizes.len() == 1 {
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
            });
        }
    }
    if !predicted.is_empty() {
        predicted.sort_by(|a, b| a.0.total_cmp(&b.0));
        layers.insert(
            0,
            Layer::Line {
                name: "predicted".to_owned(),
                points: predicted,
            },
        );
    }
    if let Some((size, off)) = furthest {
        sentences.push(format!(
            "furthest from the prediction is {} ({})",
            Unit::Bytes.show(size),
            wording::percent(off)
        ));
    }
    let all = series.iter().flat_map(|one| &one.1);
    let figure = Figure {
        title: title.to_owned(),
        description: "Mean round-trip time by message size, with intervals of the mean.".to_owned(),
        x: Axis::log("message size", AxisQuantity::Bytes),
        y: times("mean round-trip time", all.map(|one| one.mean_s)),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    let caption: Vec<String> = sentences.iter().map(|one| sentence(one)).collect();
    Some(CaptionedFigure::new("sizes", figure, caption.join(" ")))
}

/// The first round trips of each connection.
pub fn first(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let able = with_echoes(material, cases);
    let (picked, more) = spread(&able, MAX_PANELS);
    let figures: Vec<CaptionedFigure> = picked
        .iter()
        .filter_map(|case| {
            let (trial, how) = material.typical(case)?;
            let numbers: Vec<u32> = echoes(trial).iter().map(|one| one.0).collect();
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
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for (_, values) in &usable {
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
    let more = usable.len().saturating_sub(MAX_SERIES);
    if more > 0 {
        caption += &format!(" {more} more are counted in, but not drawn.");
    }
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

/// Round trips of a trial's echo flows over time: median and the band from the 5th to the 95th percentile. `None` where no
/// times are known.
pub fn band(title: &str, trial: &Trial, series: &[SampleSeries]) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for (number, flow) in echoes(trial) {
        let Some(points) = timed(number, flow, series) else {
            continue;
        };
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        let lost = values.iter().filter(|value| value.is_nan()).count();
        let (Some(half), Some(low), Some(high)) = (
            median(&values),
            quantile(&values, 0.05),
            quantile(&values, 0.95),
        ) else {
            continue;
        };
        let name = &flow.name;
        let parts = (points.len() / MIN_SAMPLES).min(MAX_PARTS);
        if parts < 3 {
            layers.push(Layer::Points {
                name: name.clone(),
                points: points
                    .into_iter()
                    .filter(|point| point.1.is_finite())
                    .collect(),
            });
        } else {
            let (band, line) = bands(&points, parts);
            layers.push(Layer::Band {
                name: name.clone(),
                points: band,
            });
            layers.push(Layer::Line {
                name: name.clone(),
                points: line,
            });
        }
        let lost = if lost > 0 {
            format!(
                "; {} did not come back",
                wording::count(lost as u64, "message")
            )
        } else {
            String::new()
        };
        sentences.push(sentence(&format!(
            "the median round trip of {name} is {}, nine in ten lie between {}{lost}",
            about(half, Unit::Seconds),
            wording::pair(low, high, Unit::Seconds, "and")
        )));
    }
    if layers.is_empty() {
        return None;
    }
    let figure = Figure {
        title: title.to_owned(),
        description: "Round-trip times over time: the median, and the band from the 5th to the 95th percentile."
            .to_owned(),
        x: Axis::linear("time", AxisQuantity::Seconds),
        y: Axis::linear("round-trip time", AxisQuantity::Seconds).from_zero(),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    Some(CaptionedFigure::new("rtt", figure, sentences.join(" ")))
}

/// A line of a band: x, low, high; and of its middle.
type Banded = (Vec<(f64, f64, f64)>, Vec<(f64, f64)>);

fn bands(points: &[(f64, f64)], parts: usize) -> Banded {
    let start = points.first().map_or(0.0, |point| point.0);
    let end = points.last().map_or(1.0, |point| point.0);
    let width = ((end - start) / parts as f64).max(1e-9);
    let (mut band, mut line) = (Vec::new(), Vec::new());
    for nth in 0..parts {
        let (from, to) = (start + nth as f64 * width, start + (nth + 1) as f64 * width);
        let last = nth + 1 == parts;
        let inside: Vec<f64> = points
            .iter()
            .filter(|point| point.0 >= from && (point.0 < to || last))
            .map(|point| point.1)
            .collect();
        let at = f64::midpoint(from, to);
        let of = |part| quantile(&inside, part).unwrap_or(f64::NAN);
        band.push((at, of(0.05), of(0.95)));
        line.push((at, of(0.5)));
    }
    (band, line)
}

/// Each round trip of an echo flow with its start: as recorded, by its schedule, or one after the other.
fn timed(number: u32, flow: &TrialFlow, series: &[SampleSeries]) -> Option<Vec<(f64, f64)>> {
    let offset = flow.offset_s.unwrap_or(0.0);
    let trips = round_trip_series(series);
    let mine: Vec<&RoundTripSeries> = trips.iter().filter(|one| one.flow == number).collect();
    if mine.iter().all(|one| one.at_s.len() == one.values_s.len()) && !mine.is_empty() {
        let mut all: Vec<(f64, f64)> = mine
            .iter()
            .flat_map(|one| one.at_s.iter().zip(&one.values_s))
            .map(|(at, value)| (offset + at, *value))
            .filter(|point| point.0.is_finite())
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        return (!all.is_empty()).then_some(all);
    }
    let [only] = mine.as_slice() else {
        // The order among several connections is unknown.
        return None;
    };
    let values = &only.values_s;
    let plan = &flow.run.as_ref()?.plan;
    if plan.clients.is_some_and(|clients| clients > 1) {
        return None;
    }
    if let Some(EchoSchedule::Every { period, poisson }) = plan.schedule {
        let at = (0..values.len()).map(|nth| offset + nth as f64 * period.as_nanos() as f64 / 1e9);
        return (!poisson).then(|| at.zip(values.iter().copied()).collect());
    }
    // Stop and wait: each message leaves when the reply to the one before has arrived; after a lost one this is unknown.
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut now = offset;
    let each = values.iter().map(|value| {
        let at = now;
        now += value;
        (at, *value)
    });
    Some(each.collect())
}

/// Boxes of round trips by message size.
#[must_use]
pub fn box_figure(title: &str, trips: &[RoundTripSeries]) -> Option<CaptionedFigure> {
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
        .filter_map(|(nth, (_, values))| {
            let mut five = FiveNumbers::from_samples(nth as f64, values)?;
            // Of very many outliers the picture needs the furthest and some between.
            if five.samples.len() > 60 {
                five.samples = {
                    let all = thinned(&five.samples);
                    spread(&all, 60).0
                };
            }
            Some(five)
        })
        .collect();
    let names = sizes.iter().map(|one| Unit::Bytes.show(one.0)).collect();
    let all = sizes.iter().flat_map(|one| one.1.iter().copied());
    let figure = Figure {
        title: title.to_owned(),
        description: "Boxes of round-trip times by message size: quartiles, whiskers, and what lies beyond as dots."
            .to_owned(),
        x: Axis::categories("message size", names),
        y: times("round-trip time", all),
        layers: vec![Layer::Boxes {
            name: "round trips".to_owned(),
            boxes,
        }],
        size: Figure::SIZE,
        note: None,
    };
    Some(CaptionedFigure::new("boxes", figure, caption))
}
