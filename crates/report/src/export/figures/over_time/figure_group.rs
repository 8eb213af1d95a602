//! Figures over time: of one trial or one run.

use crate::export::figures::round_trips;
use crate::export::figures::selection::{MAX_PANELS, MAX_SERIES, label, left_out, spread};
use crate::export::figures::study_material::StudyMaterial;
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording::sentence;
use crate::export::wording::{self, about};
use crate::quantile::{median, quantile};
use crate::timeline::quantities::{
    cwnd_bytes, datagrams, goodput_bps, length_s, loss, lost, reordered, reordering, retransmits,
    rtt_s,
};
use crate::timeline::{FlowTimeline, flows_of_trial};
use caudal_core::interval::Interval;
use caudal_core::plan::PlanKind;
use caudal_core::quantity::Unit;
use caudal_experiment::Trial;
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{FigureFile, FigureKind};
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};

/// One kind of figure for each case, from the trial shown for it.
pub fn figure_group(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    let drawable: Vec<(&CaseFindings, CaptionedFigure)> = {
        // Cases without such flows are no loss; those with them are drawn up to a number.
        let able: Vec<&CaseFindings> = cases
            .iter()
            .copied()
            .filter(|case| {
                material
                    .typical(case)
                    .is_some_and(|(trial, _)| is_able(figure.kind, trial))
            })
            .collect();
        let (picked, more) = spread(&able, MAX_PANELS);
        let mut drawn: Vec<(&CaseFindings, CaptionedFigure)> = picked
            .into_iter()
            .filter_map(|case| Some((case, one(material, figure, case)?)))
            .collect();
        if more > 0
            && let Some(note) = left_out(drawn.len(), more, "cases")
        {
            return finish(
                figure,
                drawn.drain(..).map(|pair| pair.1).collect(),
                vec![note],
            );
        }
        drawn
    };
    finish(
        figure,
        drawable.into_iter().map(|pair| pair.1).collect(),
        Vec::new(),
    )
}

fn finish(figure: &FigureFile, figures: Vec<CaptionedFigure>, notes: Vec<String>) -> FigureGroup {
    FigureGroup {
        title: figure.title.clone(),
        figures: same_range(figures),
        notes,
    }
}

/// The figures with one vertical range, so that they can be compared.
fn same_range(mut figures: Vec<CaptionedFigure>) -> Vec<CaptionedFigure> {
    let most = figures
        .iter()
        .flat_map(|drawn| &drawn.figure.layers)
        .map(highest)
        .fold(0.0, f64::max);
    if figures.len() > 1 && most > 0.0 {
        for drawn in &mut figures {
            drawn.figure.y = drawn.figure.y.clone().including(&[most]);
        }
    }
    figures
}

fn highest(layer: &Layer) -> f64 {
    let of = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    match layer {
        Layer::Line { points, .. } | Layer::Step { points, .. } | Layer::Points { points, .. } => {
            of(&mut points.iter().map(|point| point.1))
        }
        Layer::Band { points, .. } => of(&mut points.iter().map(|point| point.2)),
        Layer::Stack { edges, parts } => {
            let heights = (0..edges.len().saturating_sub(1)).map(|nth| {
                parts
                    .iter()
                    .filter_map(|(_, values)| values.get(nth))
                    .sum::<f64>()
            });
            of(&mut heights.into_iter())
        }
        _ => 0.0,
    }
}

fn is_able(kind: FigureKind, trial: &Trial) -> bool {
    let flows = flows_of_trial(trial);
    let some =
        |of: &dyn Fn(&Interval) -> bool| flows.iter().any(|one| one.intervals.iter().any(of));
    match kind {
        FigureKind::Rates => some(&|interval| interval.goodput_bps.is_some()),
        FigureKind::Share => flows.len() > 1,
        FigureKind::Window => some(&|interval| cwnd_bytes(interval).is_some()),
        FigureKind::Loss => some(&|interval| lost(interval).is_some()),
        FigureKind::Interfaces => !trial.interfaces.is_empty(),
        _ => true,
    }
}

fn one(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    case: &CaseFindings,
) -> Option<CaptionedFigure> {
    let (trial, how) = material.typical(case)?;
    let name = label(case);
    let title = case
        .title
        .as_ref()
        .map_or_else(|| name.clone(), |title| format!("{name}: {title}"));
    let flows = flows_of_trial(trial);
    let picked: Vec<FlowTimeline> = flows
        .into_iter()
        .filter(|flow| {
            figure.metrics.is_empty()
                || figure
                    .metrics
                    .iter()
                    .any(|metric| *metric == flow.name || wording::parts(metric).0 == flow.name)
        })
        .collect();
    let from = Some(trial.warm_up_s).filter(|from| *from > 0.0);
    let mut drawn = match figure.kind {
        FigureKind::Rates => rates_figure(&title, &picked, from)?,
        FigureKind::Share => share_figure(&title, &picked, from)?,
        FigureKind::Window => window_figure(&title, &picked)?,
        FigureKind::Loss => loss_figure(&title, &picked)?,
        FigureKind::Rtt => {
            let series = (material.series)(&trial.id);
            round_trips::band(&title, trial, &series).or_else(|| rtt_figure(&title, &picked))?
        }
        FigureKind::Interfaces => interfaces_figure(&title, trial, &figure.metrics)?,
        _ => return None,
    };
    drawn.name = format!("{} {name}", drawn.name);
    drawn.source = Some(how);
    Some(drawn)
}

fn time() -> Axis {
    Axis::linear("time", AxisQuantity::Seconds).from_zero()
}

/// The end of the warm-up as an event, where there is one.
fn event(from: Option<f64>) -> Option<Layer> {
    from.map(|at| Layer::Event {
        at,
        label: "measured from here".to_owned(),
    })
}

/// The sentence on gaps.
fn gaps(flows: &[FlowTimeline]) -> Option<String> {
    let gaps: usize = flows.iter().map(FlowTimeline::gaps).sum();
    (gaps > 0).then(|| {
        format!(
            "{} in the record {} shown as such.",
            wording::count(gaps as u64, "gap"),
            if gaps == 1 { "is" } else { "are" }
        )
    })
}

fn figure_of(title: &str, what: &str, y: Axis, layers: Vec<Layer>) -> Figure {
    Figure {
        title: title.to_owned(),
        description: format!("{what}; time runs from left to right."),
        x: time(),
        y,
        layers,
        size: Figure::SIZE,
        note: None,
    }
}

/// Rates over time, a line for each connection or flow.
#[must_use]
pub fn rates_figure(
    title: &str,
    flows: &[FlowTimeline],
    from: Option<f64>,
) -> Option<CaptionedFigure> {
    let shown: Vec<&FlowTimeline> = flows
        .iter()
        .filter(|flow| {
            flow.intervals
                .iter()
                .any(|interval| interval.goodput_bps.is_some())
        })
        .collect();
    if shown.is_empty() {
        return None;
    }
    let mut layers: Vec<Layer> = shown
        .iter()
        .take(MAX_SERIES)
        .map(|flow| Layer::Step {
            name: flow.name.clone(),
            points: flow.steps(goodput_bps),
        })
        .collect();
    layers.extend(event(from));
    let means: Vec<String> = shown
        .iter()
        .take(MAX_SERIES)
        .filter_map(|flow| {
            let mean = about(flow.mean_rate()?, Unit::BitPerSecond);
            Some(format!("{} averages {mean}", flow.name))
        })
        .collect();
    let mut caption = if means.is_empty() {
        "Nothing was measured after the warm-up.".to_owned()
    } else {
        sentence(&wording::list(&means))
    };
    if shown.len() > MAX_SERIES {
        caption += &format!(" {} more are not drawn.", shown.len() - MAX_SERIES);
    }
    if let Some(gaps) = gaps(flows) {
        caption = format!("{caption} {gaps}");
    }
    let y = Axis::linear("goodput", AxisQuantity::Rate).from_zero();
    let figure = figure_of(title, "Payload that arrived per second", y, layers);
    Some(CaptionedFigure::new("rates", figure, caption))
}

/// The goodput of each flow over time, stacked.
fn share_figure(title: &str, flows: &[FlowTimeline], from: Option<f64>) -> Option<CaptionedFigure> {
    let start = flows
        .iter()
        .filter_map(|flow| flow.intervals.first())
        .map(|interval| interval.start_s)
        .fold(f64::INFINITY, f64::min);
    let end = flows
        .iter()
        .filter_map(|flow| flow.intervals.last())
        .map(|interval| interval.end_s)
        .fold(f64::NEG_INFINITY, f64::max);
    let lengths: Vec<f64> = flows
        .iter()
        .flat_map(|flow| &flow.intervals)
        .map(length_s)
        .collect();
    let step = median(&lengths)?;
    let count = ((end - start) / step).round();
    if !(1.0..100_000.0).contains(&count) {
        return None;
    }
    let edges: Vec<f64> = (0..=count as usize)
        .map(|nth| start + nth as f64 * (end - start) / count)
        .collect();
    let parts: Vec<(String, Vec<f64>)> = flows
        .iter()
        .map(|flow| {
            let (first, last) = (flow.intervals.first(), flow.intervals.last());
            let values = flow.rates_between(&edges);
            let values = values
                .into_iter()
                .zip(edges.windows(2))
                .map(|(rate, edge)| {
                    // Before a flow begins and after it ends it carries nothing; that is no hole.
                    let outside = first.is_none_or(|first| edge[1] <= first.start_s + 0.5 * step)
                        || last.is_none_or(|last| edge[0] >= last.end_s - 0.5 * step);
                    rate.unwrap_or(if outside { 0.0 } else { f64::NAN })
                });
            (flow.name.clone(), values.collect())
        })
        .collect();
    let means: Vec<f64> = flows
        .iter()
        .map(|flow| flow.mean_rate().unwrap_or(0.0))
        .collect();
    let total: f64 = means.iter().sum();
    let caption = if total > 0.0 {
        let shares: Vec<String> = flows
            .iter()
            .zip(&means)
            .map(|(flow, mean)| format!("{} gets {}", flow.name, about(mean / total, Unit::Share)))
            .collect();
        format!(
            "Of the {} that arrive, {}.",
            about(total, Unit::BitPerSecond),
            wording::list(&shares)
        )
    } else {
        "Nothing arrives.".to_owned()
    };
    let mut layers = vec![Layer::Stack { edges, parts }];
    layers.extend(event(from));
    let y = Axis::linear("goodput, stacked", AxisQuantity::Rate).from_zero();
    let figure = figure_of(title, "Payload of all flows, one upon the other", y, layers);
    Some(CaptionedFigure::new("share", figure, caption))
}

/// Congestion windows over time, with a dot where segments were sent again.
#[must_use]
pub fn window_figure(title: &str, flows: &[FlowTimeline]) -> Option<CaptionedFigure> {
    let shown: Vec<&FlowTimeline> = flows
        .iter()
        .filter(|flow| {
            flow.intervals
                .iter()
                .any(|interval| cwnd_bytes(interval).is_some())
        })
        .take(MAX_SERIES)
        .collect();
    if shown.is_empty() {
        return None;
    }
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    let mut dots = Vec::new();
    for flow in &shown {
        let points = flow.readings(cwnd_bytes);
        let windows: Vec<f64> = points
            .iter()
            .map(|point| point.1)
            .filter(|value| value.is_finite())
            .collect();
        let (low, high) = (quantile(&windows, 0.0)?, quantile(&windows, 1.0)?);
        let again = flow.sum(retransmits).map_or(String::new(), |again| {
            format!("; {} sent again", wording::count(again as u64, "segment"))
        });
        sentences.push(format!(
            "{}'s window lies between {}{again}",
            flow.name,
            wording::pair(low, high, Unit::Bytes, "and")
        ));
        dots.extend(flow.intervals.iter().filter_map(|interval| {
            let lossy = retransmits(interval).is_some_and(|again| again > 0.0);
            lossy.then_some((interval.end_s, cwnd_bytes(interval)?))
        }));
        layers.push(Layer::Line {
            name: flow.name.clone(),
            points,
        });
    }
    if !dots.is_empty() {
        layers.push(Layer::Points {
            name: "segments sent again".to_owned(),
            points: dots,
        });
    }
    let y = Axis::linear("congestion window", AxisQuantity::Bytes).from_zero();
    let what = "The sender's congestion window at the end of each interval";
    let caption: Vec<String> = sentences.iter().map(|one| sentence(one)).collect();
    let figure = figure_of(title, what, y, layers);
    Some(CaptionedFigure::new("window", figure, caption.join(" ")))
}

/// Loss and reordering over time.
#[must_use]
pub fn loss_figure(title: &str, flows: &[FlowTimeline]) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for flow in flows.iter().filter(|flow| flow.kind == PlanKind::Udp) {
        let known =
            |of: fn(&Interval) -> Option<f64>| flow.intervals.iter().any(|one| of(one).is_some());
        let sum = |of: fn(&Interval) -> Option<f64>| -> f64 {
            flow.intervals.iter().filter_map(of).sum()
        };
        if known(loss) {
            layers.push(Layer::Step {
                name: format!("{} lost", flow.name),
                points: flow.steps(loss),
            });
        }
        if known(reordering) {
            layers.push(Layer::Step {
                name: format!("{} out of order", flow.name),
                points: flow.steps(reordering),
            });
        }
        let (missing, arrived) = (sum(lost), sum(datagrams));
        if known(lost) && missing + arrived > 0.0 {
            let loss = if missing > 0.0 {
                format!(
                    "loses {} of its datagrams",
                    about(missing / (missing + arrived), Unit::Share)
                )
            } else {
                "loses no datagram".to_owned()
            };
            let late = sum(reordered);
            let late = match (known(reordered), late > 0.0) {
                (false, _) => String::new(),
                (true, false) => "; none arrives out of order".to_owned(),
                (true, true) => format!(
                    "; {} of those that arrive are out of order",
                    about(late / arrived.max(1.0), Unit::Share)
                ),
            };
            sentences.push(sentence(&format!("{} {loss}{late}", flow.name)));
        }
    }
    if layers.is_empty() {
        return None;
    }
    let y = Axis::linear("part of the datagrams", AxisQuantity::Percent).from_zero();
    let figure = figure_of(title, "Datagrams lost and out of order", y, layers);
    Some(CaptionedFigure::new("loss", figure, sentences.join(" ")))
}

/// The kernel's smoothed round-trip times over time.
#[must_use]
pub fn rtt_figure(title: &str, flows: &[FlowTimeline]) -> Option<CaptionedFigure> {
    let of = |interval: &Interval| rtt_s(interval);
    lines_figure(
        "rtt",
        title,
        flows,
        (
            "smoothed round-trip time",
            AxisQuantity::Seconds,
            Unit::Seconds,
        ),
        &of,
    )
}

/// A quantity that was read at the end of each interval, a line for each connection.
#[must_use]
pub fn lines_figure(
    name: &str,
    title: &str,
    flows: &[FlowTimeline],
    (what, quantity, unit): (&str, AxisQuantity, Unit),
    of: &dyn Fn(&Interval) -> Option<f64>,
) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for flow in flows.iter().take(MAX_SERIES) {
        let points = flow.readings(of);
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        let Some(median) = median(&values) else {
            continue;
        };
        let most = quantile(&values, 1.0)?;
        sentences.push(sentence(&format!(
            "the {what} of {} is {} in the middle and {} at most",
            flow.name,
            about(median, unit),
            about(most, unit)
        )));
        layers.push(Layer::Line {
            name: flow.name.clone(),
            points,
        });
    }
    if layers.is_empty() {
        return None;
    }
    let y = Axis::linear(what, quantity).from_zero();
    let figure = figure_of(title, &sentence(what), y, layers);
    Some(CaptionedFigure::new(name, figure, sentences.join(" ")))
}

/// An interface's name, the bytes it sent, and its rate over time.
type Carried = (String, f64, Vec<(f64, f64)>);

/// The rates at which interfaces send over time: those named, else the busier end of each link.
fn interfaces_figure(title: &str, trial: &Trial, names: &[String]) -> Option<CaptionedFigure> {
    let total = |bytes: &[u64]| {
        let (first, last) = (bytes.first().copied(), bytes.last().copied());
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0)) as f64
    };
    let is_named = |one: &caudal_experiment::InterfaceSeries| {
        let whole = format!("{}.{}", one.node, one.interface);
        names
            .iter()
            .any(|name| [&one.node, &one.interface, &one.link, &whole].contains(&name))
    };
    let mut picked: Vec<Carried> = Vec::new();
    for one in &trial.interfaces {
        if !names.is_empty() && !is_named(one) {
            continue;
        }
        let carried = total(&one.tx_bytes);
        // Both ends of a link count the same frames: of a link that is not named, the busier end is drawn.
        let twin = trial.interfaces.iter().any(|other| {
            other.link == one.link
                && (&other.node, &other.interface) != (&one.node, &one.interface)
                && total(&other.tx_bytes) > carried
        });
        if names.is_empty() && twin {
            continue;
        }
        let counted = one.at_s.iter().zip(&one.tx_bytes);
        let counted: Vec<(f64, u64)> = counted.map(|(at, bytes)| (*at, *bytes)).collect();
        let mut points: Vec<(f64, f64)> = counted
            .windows(2)
            .map(|pair| {
                let took = pair[1].0 - pair[0].0;
                let rate = if took > 0.0 && pair[1].1 >= pair[0].1 {
                    (pair[1].1 - pair[0].1) as f64 * 8.0 / took
                } else {
                    f64::NAN
                };
                (pair[0].0, rate)
            })
            .collect();
        if let (Some(last), Some(end)) = (points.last().copied(), counted.last()) {
            points.push((end.0, last.1));
        }
        let took = counted.last()?.0 - counted.first()?.0;
        let mean = if took > 0.0 {
            carried * 8.0 / took
        } else {
            0.0
        };
        picked.push((
            format!("{} {} ({})", one.node, one.interface, one.link),
            mean,
            points,
        ));
    }
    picked.sort_by(|a, b| b.1.total_cmp(&a.1));
    let more = picked.len().saturating_sub(MAX_SERIES);
    picked.truncate(MAX_SERIES);
    if picked.is_empty() {
        return None;
    }
    let means: Vec<String> = picked
        .iter()
        .map(|(name, mean, _)| format!("{name} {}", about(*mean, Unit::BitPerSecond)))
        .collect();
    let mut caption = format!("On average {} were sent.", wording::list(&means));
    if more > 0 {
        caption += &format!(" {more} quieter interfaces are not drawn.");
    }
    let layers = picked
        .into_iter()
        .map(|(name, _, points)| Layer::Step { name, points })
        .collect();
    let y = Axis::linear("sent by the interface", AxisQuantity::Rate).from_zero();
    let figure = figure_of(title, "Bits sent per second, headers included", y, layers);
    Some(CaptionedFigure::new("interfaces", figure, caption))
}
