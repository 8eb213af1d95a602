//! Figures that compare cases: boxes, bars, and a metric over a parameter.

use crate::export::figures::selection::{MAX_SERIES, label, left_out, spread};
use crate::export::figures::study_material::{StudyMaterial, is_load};
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording::sentence;
use crate::export::wording::{self, about};
use crate::quantile::{median, quantile};
use caudal_core::quantity::Unit;
use caudal_experiment::expression::find_metric;
use caudal_experiment::findings::{CaseFindings, MetricFindings};
use caudal_experiment::{FigureFile, FigureKind, Metric, Scalar};
use caudal_plot::{Axis, AxisQuantity, Bar, Figure, FiveNumbers, Layer};

/// The maximum number of cases in one figure.
const MAX_CASES: usize = 24;
/// From so many cases on they stand one under the other, where their names have room.
const UPRIGHT: usize = 7;
/// So many values are all drawn as dots.
const FEW: usize = 20;

/// The metrics of a figure: those it names, else the goodput of every flow, else its round-trip time.
fn metrics(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Vec<String> {
    if !figure.metrics.is_empty() {
        return figure.metrics.clone();
    }
    let of = |load: bool| {
        let mut names: Vec<String> = Vec::new();
        for flow in material.trials.iter().flat_map(|trial| &trial.flows) {
            let name = format!("{}.{}", flow.name, if load { "goodput" } else { "rtt" });
            let known = || cases.iter().any(|case| case.metrics.contains_key(&name));
            if is_load(flow.kind) == load && !names.contains(&name) && known() {
                names.push(name);
            }
        }
        names
    };
    let loads = of(true);
    if loads.is_empty() { of(false) } else { loads }
}

/// The cases that know a metric, and what they know.
fn knowing<'a>(
    cases: &[&'a CaseFindings],
    metric: &str,
) -> Vec<(&'a CaseFindings, &'a MetricFindings)> {
    cases
        .iter()
        .filter_map(|case| Some((*case, case.metrics.get(metric)?)))
        .filter(|(_, known)| {
            known.observed.is_some()
                || known.predicted.is_some()
                || known.simulated.is_some()
                || known.published.is_some()
        })
        .collect()
}

/// A figure for each metric.
pub fn groups(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Vec<FigureGroup> {
    let mut figures = Vec::new();
    let mut notes = Vec::new();
    for metric in metrics(material, figure, cases) {
        let known = knowing(cases, &metric);
        let (picked, more) = spread(&known, MAX_CASES);
        let drawn = match figure.kind {
            FigureKind::Boxes => boxes(&metric, &picked),
            _ => bars(&metric, &picked),
        };
        if let Some(drawn) = drawn {
            notes.extend(left_out(picked.len(), more, "cases"));
            figures.push(drawn);
        }
    }
    notes.dedup();
    // Many cases need the page's width.
    let wide = figures
        .iter()
        .any(|drawn| categories_of(&drawn.figure) > UPRIGHT);
    if wide && figures.len() > 1 {
        let mut groups: Vec<FigureGroup> = figures
            .into_iter()
            .enumerate()
            .map(|(nth, drawn)| FigureGroup {
                title: if nth == 0 {
                    figure.title.clone()
                } else {
                    String::new()
                },
                figures: vec![drawn],
                notes: Vec::new(),
            })
            .collect();
        if let Some(last) = groups.last_mut() {
            last.notes = notes;
        }
        return groups;
    }
    vec![FigureGroup {
        title: figure.title.clone(),
        figures,
        notes,
    }]
}

fn categories_of(figure: &Figure) -> usize {
    let of = |axis: &Axis| axis.categories.as_ref().map_or(0, Vec::len);
    of(&figure.x).max(of(&figure.y))
}

/// The axes of a figure by case: upright where there are few, else lying, with room for every name.
fn axes(names: Vec<String>, value: Axis, series: usize) -> (Axis, Axis, (u32, u32)) {
    let count = names.len();
    let cases = Axis::categories("", names);
    if count <= UPRIGHT {
        (cases, value, Figure::SIZE)
    } else {
        let high = (120 + count * (14 * series.max(1) + 12)).clamp(300, 1100);
        (value, cases, (800, high as u32))
    }
}

fn bars(metric: &str, known: &[(&CaseFindings, &MetricFindings)]) -> Option<CaptionedFigure> {
    let (_, first) = known.first()?;
    let unit = wording::unit(first.unit);
    let of = |value: fn(&MetricFindings) -> Option<f64>| -> Vec<Option<Bar>> {
        known
            .iter()
            .map(|(_, one)| value(one).map(Bar::new))
            .collect()
    };
    let observed = known.iter().map(|(_, one)| {
        let estimate = one.observed?;
        Some(Bar {
            value: estimate.mean,
            interval: has_interval(metric, one),
            samples: if one.values.len() > 1 && one.values.len() <= FEW {
                one.values.clone()
            } else {
                Vec::new()
            },
        })
    });
    let layers: Vec<Layer> = [
        ("predicted", of(|one| one.predicted)),
        ("simulated", of(|one| one.simulated)),
        ("published", of(|one| one.published)),
        ("observed", observed.collect()),
    ]
    .into_iter()
    .filter(|(_, bars)| bars.iter().any(Option::is_some))
    .map(|(name, bars)| Layer::Bars {
        name: name.to_owned(),
        bars,
    })
    .collect();
    if layers.is_empty() {
        return None;
    }
    let names: Vec<String> = known.iter().map(|(case, _)| label(case)).collect();
    let value = Axis::linear(&wording::metric(metric), wording::quantity(first.unit)).from_zero();
    let (x, y, size) = axes(names, value, layers.len());
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
    let caption = compared(metric, known, unit);
    Some(CaptionedFigure::new(metric, figure, caption))
}

/// The interval to draw, as far as the metric can be, however wide that of a few trials is.
fn has_interval(name: &str, metric: &MetricFindings) -> Option<(f64, f64)> {
    let estimate = metric.observed.filter(|one| one.confidence > 0.0)?;
    let known = find_metric(name).map(Metric::range);
    let estimate = known.map_or(estimate, |range| estimate.clamped_to(range));
    Some((estimate.low, estimate.high))
}

/// The range of the observed values, and their largest difference from the expected ones.
fn compared(metric: &str, known: &[(&CaseFindings, &MetricFindings)], unit: Unit) -> String {
    let mut parts = Vec::new();
    let seen: Vec<(&CaseFindings, f64)> = known
        .iter()
        .filter_map(|(case, one)| Some((*case, one.observed?.mean)))
        .collect();
    let least = seen.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let most = seen.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    match (least, most) {
        (Some(least), Some(most)) if seen.len() > 1 && least.1 < most.1 => parts.push(format!(
            "{} lies between {} ({}) and {} ({})",
            wording::metric(metric),
            about(least.1, unit),
            label(least.0),
            about(most.1, unit),
            label(most.0)
        )),
        (Some(one), _) => parts.push(format!(
            "{} is {}{}",
            wording::metric(metric),
            about(one.1, unit),
            if seen.len() > 1 { " in every case" } else { "" }
        )),
        _ => parts.push(format!("{} was not observed", wording::metric(metric))),
    }
    for (name, value) in [
        (
            "the prediction",
            (|one| one.predicted) as fn(&MetricFindings) -> Option<f64>,
        ),
        ("the simulation", |one| one.simulated),
        ("the published value", |one| one.published),
    ] {
        let furthest = known
            .iter()
            .filter_map(|(case, one)| {
                let (observed, expected) = (one.observed?.mean, value(one)?);
                (expected != 0.0).then_some((*case, observed / expected - 1.0))
            })
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        if let Some((case, off)) = furthest {
            parts.push(format!(
                "furthest from {name} is {} ({})",
                label(case),
                wording::percent(off)
            ));
        }
    }
    sentence(&parts.join("; "))
}

fn boxes(metric: &str, known: &[(&CaseFindings, &MetricFindings)]) -> Option<CaptionedFigure> {
    let known: Vec<&(&CaseFindings, &MetricFindings)> = known
        .iter()
        .filter(|(_, one)| one.values.iter().any(|value| value.is_finite()))
        .collect();
    let (_, first) = known.first()?;
    let unit = wording::unit(first.unit);
    let five = |nth: usize, values: &[f64]| {
        let mut five = FiveNumbers::from_samples(nth as f64, values)?;
        if values.len() <= FEW {
            five.samples = values.to_vec();
        }
        Some(five)
    };
    let boxes: Vec<FiveNumbers> = known
        .iter()
        .enumerate()
        .filter_map(|(nth, (_, one))| five(nth, &one.values))
        .collect();
    let medians: Vec<(&CaseFindings, f64)> = known
        .iter()
        .filter_map(|(case, one)| Some((*case, median(&one.values)?)))
        .collect();
    let least = medians.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = medians.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let n: Vec<f64> = known
        .iter()
        .map(|(_, one)| one.values.len() as f64)
        .collect();
    let (fewest, many) = (quantile(&n, 0.0)?, quantile(&n, 1.0)?);
    let trials = if fewest == many {
        wording::count(many as u64, "trial")
    } else {
        format!("{fewest} to {many} trials")
    };
    let caption = if medians.len() > 1 {
        format!(
            "The median of {} is least in {} ({}) and greatest in {} ({}); {trials} a case.",
            wording::metric(metric),
            label(least.0),
            about(least.1, unit),
            label(most.0),
            about(most.1, unit)
        )
    } else {
        format!(
            "The median of {} is {}; {trials}.",
            wording::metric(metric),
            about(least.1, unit)
        )
    };
    let names: Vec<String> = known.iter().map(|(case, _)| label(case)).collect();
    let value = Axis::linear(&wording::metric(metric), wording::quantity(first.unit));
    let (x, y, size) = axes(names, value, 1);
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

/// One series of a sweep: the points of cases that differ in the swept parameter alone.
struct Swept<'a> {
    name: String,
    metric: String,
    points: Vec<(f64, &'a MetricFindings)>,
}

/// A metric over a parameter: a figure for each unit among the metrics.
pub fn sweeps(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Vec<FigureGroup> {
    let metrics = metrics(material, figure, cases);
    let Some(over) = figure.over.clone().or_else(|| only_varied(cases)) else {
        return vec![FigureGroup {
            title: figure.title.clone(),
            figures: Vec::new(),
            notes: vec!["Not drawn: no parameter is named to draw it over.".to_owned()],
        }];
    };
    let mut figures = Vec::new();
    let mut notes = Vec::new();
    let mut units: Vec<&'static str> = Vec::new();
    for metric in &metrics {
        let unit = knowing(cases, metric).first().map(|(_, one)| one.unit);
        if let Some(unit) = unit
            && !units.contains(&unit)
        {
            units.push(unit);
        }
    }
    for unit in units {
        if let Some((drawn, note)) = sweep(material, figure, (&over, unit), &metrics, cases) {
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
fn only_varied(cases: &[&CaseFindings]) -> Option<String> {
    let first = cases.first()?;
    let varied = first.parameters.iter().filter(|(name, value)| {
        cases
            .iter()
            .any(|case| parameter(case, name).is_some_and(|other| other != value))
    });
    let mut names = varied.map(|(name, _)| name.clone());
    names.next().filter(|_| names.next().is_none())
}

fn parameter<'a>(case: &'a CaseFindings, name: &str) -> Option<&'a Scalar> {
    case.parameters
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
}

fn sweep(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    (over, unit): (&str, &'static str),
    metrics: &[String],
    cases: &[&CaseFindings],
) -> Option<(CaptionedFigure, Option<String>)> {
    let values: Vec<&Scalar> = cases
        .iter()
        .filter_map(|case| parameter(case, over))
        .collect();
    // As numbers if all are some; else by name, in the order of the experiment.
    let numeric = values.iter().all(|value| value.number().is_some());
    let mut names: Vec<String> = Vec::new();
    for value in &values {
        let name = value.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let place = |value: &Scalar| -> Option<f64> {
        if numeric {
            value.number()
        } else {
            let name = value.to_string();
            names
                .iter()
                .position(|known| *known == name)
                .map(|at| at as f64)
        }
    };
    let varied: Vec<&str> = cases.first().map_or_else(Vec::new, |first| {
        let others = first.parameters.iter().filter(|(name, value)| {
            name != over
                && cases
                    .iter()
                    .any(|case| parameter(case, name).is_some_and(|other| other != value))
        });
        others.map(|(name, _)| name.as_str()).collect()
    });
    let mut all: Vec<Swept<'_>> = Vec::new();
    for metric in metrics {
        for (case, known) in knowing(cases, metric) {
            if known.unit != unit {
                continue;
            }
            let Some(at) = parameter(case, over).and_then(place) else {
                continue;
            };
            // The parameter that makes the series comes first in their names.
            let mut group: Vec<(&str, String)> = varied
                .iter()
                .filter_map(|name| Some((*name, parameter(case, name)?.to_string())))
                .collect();
            group.sort_by_key(|(name, _)| Some(*name) != figure.by.as_deref());
            let mut parts: Vec<String> = group.into_iter().map(|(_, value)| value).collect();
            if metrics.len() > 1 || parts.is_empty() {
                parts.insert(0, wording::metric(metric));
            }
            let name = parts.join(", ");
            match all
                .iter_mut()
                .find(|one| one.name == name && one.metric == *metric)
            {
                Some(one) => one.points.push((at, known)),
                None => all.push(Swept {
                    name,
                    metric: metric.clone(),
                    points: vec![(at, known)],
                }),
            }
        }
    }
    for one in &mut all {
        one.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let more = all.len().saturating_sub(MAX_SERIES);
    all.truncate(MAX_SERIES);
    if all.is_empty() {
        return None;
    }
    let mut layers = expected(&all);
    layers.extend(all.iter().map(|one| {
        Layer::Intervals {
            name: one.name.clone(),
            points: one
                .points
                .iter()
                .map(|(at, known)| {
                    let estimate = known.observed;
                    (
                        *at,
                        estimate.map_or(f64::NAN, |estimate| estimate.mean),
                        has_interval(&one.metric, known),
                    )
                })
                .collect(),
        }
    }));
    let base = wording::unit(unit);
    layers.extend(alone(material, &all, base));
    layers.extend(begins(material, &all, over));
    let x = if numeric {
        let at: Vec<f64> = all
            .iter()
            .flat_map(|one| &one.points)
            .map(|point| point.0)
            .collect();
        scale(over, &values, &at)
    } else {
        Axis::categories(over, names.clone())
    };
    let y = Axis::linear(
        &if metrics.len() == 1 {
            wording::metric(&metrics[0])
        } else {
            same_part(metrics)
        },
        wording::quantity(unit),
    )
    .from_zero();
    let shown = |at: f64| {
        if numeric {
            let written = values.iter().find(|value| value.number() == Some(at));
            written.map_or_else(|| at.to_string(), ToString::to_string)
        } else {
            names.get(at as usize).cloned().unwrap_or_default()
        }
    };
    let caption: Vec<String> = all
        .iter()
        .filter_map(|one| flow(one, over, base, &shown))
        .collect();
    let caption = if caption.is_empty() {
        "No trial could tell.".to_owned()
    } else {
        caption.join(" ")
    };
    let drawn = CaptionedFigure::new(
        &figure.title,
        Figure {
            title: figure.title.clone(),
            description: format!("{} over {over}, with intervals.", wording::list(metrics)),
            x,
            y,
            layers,
            size: Figure::SIZE,
            note: None,
        },
        caption,
    );
    let count = all.len();
    Some((drawn, left_out(count, more, "series")))
}

/// The last part of the names of the metrics, where it is the same for all.
fn same_part(metrics: &[String]) -> String {
    let parts: Vec<&str> = metrics
        .iter()
        .map(|metric| wording::parts(metric).1)
        .collect();
    if parts.windows(2).all(|pair| pair[0] == pair[1]) {
        parts
            .first()
            .map(|part| wording::metric(part))
            .unwrap_or_default()
    } else {
        String::new()
    }
}

/// The predicted, simulated and published values, once where they are the same for every series.
fn expected(all: &[Swept<'_>]) -> Vec<Layer> {
    let mut layers = Vec::new();
    for (name, of) in [
        (
            "predicted",
            (|one| one.predicted) as fn(&MetricFindings) -> Option<f64>,
        ),
        ("simulated", |one| one.simulated),
    ] {
        let lines: Vec<Vec<(f64, f64)>> = all
            .iter()
            .map(|one| {
                let points = one.points.iter();
                points
                    .filter_map(|(at, known)| Some((*at, of(known)?)))
                    .collect()
            })
            .collect();
        let same = lines.windows(2).all(|pair| pair[0] == pair[1]);
        if same && let Some(points) = lines.first().filter(|points| !points.is_empty()) {
            layers.push(Layer::Line {
                name: name.to_owned(),
                points: points.clone(),
            });
        } else if all.len() <= 3 {
            for (one, points) in all.iter().zip(lines).filter(|(_, line)| !line.is_empty()) {
                layers.push(Layer::Line {
                    name: format!("{name}: {}", one.name),
                    points,
                });
            }
        }
    }
    let published: Vec<(f64, f64)> = all
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

/// The solo baseline, where all series are of one flow with one baseline.
fn alone(material: &StudyMaterial<'_>, all: &[Swept<'_>], unit: Unit) -> Option<Layer> {
    let metric = &all.first()?.metric;
    if all.iter().any(|one| one.metric != *metric) {
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
fn begins(material: &StudyMaterial<'_>, all: &[Swept<'_>], over: &str) -> Option<Layer> {
    let victim = wording::parts(&all.first()?.metric).0;
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
    (none.is_none() && all.len() == 1).then(|| Layer::Event {
        at: step.value,
        label: format!("starves from {} on", step.load),
    })
}

/// The axis of a parameter whose values are numbers.
fn scale(over: &str, values: &[&Scalar], at: &[f64]) -> Axis {
    let ends = |ending: &str| {
        values.iter().all(|value| match value {
            Scalar::Text(text) => text.trim().ends_with(ending),
            _ => value.number() == Some(0.0),
        })
    };
    let name = over.to_lowercase();
    let about = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let quantity = if ends("%") {
        AxisQuantity::Percent
    } else if ends("s") || about(&["delay", "rtt"]) && ends("s") {
        AxisQuantity::Seconds
    } else if about(&[
        "size", "length", "window", "buffer", "bytes", "mss", "message",
    ]) {
        AxisQuantity::Bytes
    } else if about(&["rate", "bandwidth", "load"]) && (ends("M") || ends("k") || ends("G")) {
        AxisQuantity::Rate
    } else {
        AxisQuantity::Number
    };
    let least = at.iter().copied().fold(f64::INFINITY, f64::min);
    let most = at.iter().copied().fold(0.0, f64::max);
    let axis = if least > 0.0 && most / least >= 50.0 {
        Axis::log(over, quantity)
    } else {
        Axis::linear(over, quantity)
    };
    Axis {
        label: wording::metric(over),
        ..axis
    }
}

/// The change of a series from its first point to its last, in words.
fn flow(one: &Swept<'_>, over: &str, unit: Unit, shown: &dyn Fn(f64) -> String) -> Option<String> {
    let known: Vec<(f64, f64)> = one
        .points
        .iter()
        .filter_map(|(at, known)| Some((*at, known.observed?.mean)))
        .collect();
    let (first, last) = (known.first()?, known.last()?);
    if known.len() == 1 {
        return Some(sentence(&format!(
            "{} is {} at {} {}",
            one.name,
            about(first.1, unit),
            wording::metric(over),
            shown(first.0)
        )));
    }
    let least = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = known.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let range = format!(
        "as {} goes from {} to {}",
        wording::metric(over),
        shown(first.0),
        shown(last.0)
    );
    let scale = most.1.abs().max(least.1.abs());
    let verb = if (last.1 - first.1).abs() <= 0.05 * scale {
        if most.1 - least.1 <= 0.1 * scale {
            return Some(sentence(&format!(
                "{} stays near {} {range}",
                one.name,
                about(first.1, unit)
            )));
        }
        "goes"
    } else if last.1 > first.1 {
        "rises"
    } else {
        "falls"
    };
    let mut text = format!(
        "{} {verb} from {} {range}",
        one.name,
        wording::pair(first.1, last.1, unit, "to")
    );
    // A turn on the way is worth a word.
    let turn = [least, most]
        .into_iter()
        .filter(|point| point.0 != first.0 && point.0 != last.0)
        .map(|point| {
            (
                point,
                (point.1 - first.1).abs().min((point.1 - last.1).abs()),
            )
        })
        .filter(|(_, off)| *off > 0.1 * scale)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((point, _)) = turn {
        text += &format!(", with {} at {}", about(point.1, unit), shown(point.0));
    }
    Some(sentence(&text))
}
