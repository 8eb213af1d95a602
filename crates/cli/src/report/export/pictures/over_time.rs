//! Figures over time: of one trial or one run.

use super::super::page::{Drawn, Plate};
use super::super::words::{self, about};
use super::{MOST_PANELS, MOST_SERIES, Material, echo, label, left_out, named, sentence, spread};
use crate::report::view::{self, Course, Kind, Slice};
use caudal_core::quantity::Unit;
use caudal_experiment::Trial;
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{FigureFile, FigureKind};
use caudal_plot::{Axis, Figure, Layer, Quantity};

/// A kind of picture for each case, from the trial that stands for it.
pub(super) fn plate(
    material: &Material<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Plate {
    let drawable: Vec<(&CaseFindings, Drawn)> = {
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
        let (picked, more) = spread(&able, MOST_PANELS);
        let mut drawn: Vec<(&CaseFindings, Drawn)> = picked
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

fn finish(figure: &FigureFile, figures: Vec<Drawn>, notes: Vec<String>) -> Plate {
    Plate {
        title: figure.title.clone(),
        figures: same_range(figures),
        notes,
    }
}

/// Pictures of a plate share their vertical range, so that they can be compared.
fn same_range(mut figures: Vec<Drawn>) -> Vec<Drawn> {
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
    let courses = view::of_trial(trial);
    let some = |of: &dyn Fn(&Slice) -> bool| courses.iter().any(|one| one.slices.iter().any(of));
    match kind {
        FigureKind::Rates => some(&|slice| slice.goodput_bps.is_some()),
        FigureKind::Share => courses.len() > 1,
        FigureKind::Window => some(&|slice| slice.cwnd_bytes.is_some()),
        FigureKind::Loss => some(&|slice| slice.lost.is_some()),
        FigureKind::Interfaces => !trial.interfaces.is_empty(),
        _ => true,
    }
}

fn one(material: &Material<'_>, figure: &FigureFile, case: &CaseFindings) -> Option<Drawn> {
    let (trial, how) = material.typical(case)?;
    let name = label(case);
    let title = case
        .title
        .as_ref()
        .map_or_else(|| name.clone(), |title| format!("{name}: {title}"));
    let courses = view::of_trial(trial);
    let picked: Vec<Course> = courses
        .into_iter()
        .filter(|course| {
            figure.metrics.is_empty()
                || figure
                    .metrics
                    .iter()
                    .any(|metric| *metric == course.name || words::parts(metric).0 == course.name)
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
            echo::band(&title, trial, &series).or_else(|| rtt_figure(&title, &picked))?
        }
        FigureKind::Interfaces => interfaces_figure(&title, trial, &figure.metrics)?,
        _ => return None,
    };
    drawn.name = format!("{} {name}", drawn.name);
    drawn.from = Some(how);
    Some(drawn)
}

fn time() -> Axis {
    Axis::linear("time", Quantity::Seconds).from_zero()
}

/// Where the measured part begins, unless it is the whole.
fn event(from: Option<f64>) -> Option<Layer> {
    from.map(|at| Layer::Event {
        at,
        label: "measured from here".to_owned(),
    })
}

/// The sentence for holes.
fn holes(courses: &[Course]) -> Option<String> {
    let holes: usize = courses.iter().map(Course::holes).sum();
    (holes > 0).then(|| {
        format!(
            "{} in the record {} shown as such.",
            words::count(holes as u64, "gap"),
            if holes == 1 { "is" } else { "are" }
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
pub fn rates_figure(title: &str, courses: &[Course], from: Option<f64>) -> Option<Drawn> {
    let shown: Vec<&Course> = courses
        .iter()
        .filter(|course| {
            course
                .slices
                .iter()
                .any(|slice| slice.goodput_bps.is_some())
        })
        .collect();
    if shown.is_empty() {
        return None;
    }
    let mut layers: Vec<Layer> = shown
        .iter()
        .take(MOST_SERIES)
        .map(|course| Layer::Step {
            name: course.name.clone(),
            points: course.steps(|slice| slice.goodput_bps),
        })
        .collect();
    layers.extend(event(from));
    let means: Vec<String> = shown
        .iter()
        .take(MOST_SERIES)
        .filter_map(|course| {
            let mean = about(course.mean_rate()?, Unit::BitPerSecond);
            Some(format!("{} averages {mean}", course.name))
        })
        .collect();
    let mut says = if means.is_empty() {
        "Nothing was measured after the warm-up.".to_owned()
    } else {
        sentence(&words::list(&means))
    };
    if shown.len() > MOST_SERIES {
        says += &format!(" {} more are not drawn.", shown.len() - MOST_SERIES);
    }
    if let Some(holes) = holes(courses) {
        says = format!("{says} {holes}");
    }
    let y = Axis::linear("goodput", Quantity::Rate).from_zero();
    let figure = figure_of(title, "Payload that arrived per second", y, layers);
    Some(named("rates", figure, says, None))
}

/// What each flow gets of what arrives, one upon the other.
fn share_figure(title: &str, courses: &[Course], from: Option<f64>) -> Option<Drawn> {
    let start = courses
        .iter()
        .filter_map(|course| course.slices.first())
        .map(|slice| slice.start_s)
        .fold(f64::INFINITY, f64::min);
    let end = courses
        .iter()
        .filter_map(|course| course.slices.last())
        .map(|slice| slice.end_s)
        .fold(f64::NEG_INFINITY, f64::max);
    let lengths: Vec<f64> = courses
        .iter()
        .flat_map(|course| &course.slices)
        .map(|slice| slice.end_s - slice.start_s)
        .collect();
    let step = view::median(&lengths)?;
    let count = ((end - start) / step).round();
    if !(1.0..100_000.0).contains(&count) {
        return None;
    }
    let edges: Vec<f64> = (0..=count as usize)
        .map(|nth| start + nth as f64 * (end - start) / count)
        .collect();
    let parts: Vec<(String, Vec<f64>)> = courses
        .iter()
        .map(|course| {
            let (first, last) = (course.slices.first(), course.slices.last());
            let values = course.between(&edges);
            let values = values
                .into_iter()
                .zip(edges.windows(2))
                .map(|(rate, edge)| {
                    // Before a flow begins and after it ends it carries nothing; that is no hole.
                    let outside = first.is_none_or(|first| edge[1] <= first.start_s + 0.5 * step)
                        || last.is_none_or(|last| edge[0] >= last.end_s - 0.5 * step);
                    rate.unwrap_or(if outside { 0.0 } else { f64::NAN })
                });
            (course.name.clone(), values.collect())
        })
        .collect();
    let means: Vec<f64> = courses
        .iter()
        .map(|course| course.mean_rate().unwrap_or(0.0))
        .collect();
    let total: f64 = means.iter().sum();
    let says = if total > 0.0 {
        let shares: Vec<String> = courses
            .iter()
            .zip(&means)
            .map(|(course, mean)| {
                format!("{} gets {}", course.name, about(mean / total, Unit::Share))
            })
            .collect();
        format!(
            "Of the {} that arrive, {}.",
            about(total, Unit::BitPerSecond),
            words::list(&shares)
        )
    } else {
        "Nothing arrives.".to_owned()
    };
    let mut layers = vec![Layer::Stack { edges, parts }];
    layers.extend(event(from));
    let y = Axis::linear("goodput, stacked", Quantity::Rate).from_zero();
    let figure = figure_of(title, "Payload of all flows, one upon the other", y, layers);
    Some(named("share", figure, says, None))
}

/// Congestion windows over time, with a dot where segments were sent again.
#[must_use]
pub fn window_figure(title: &str, courses: &[Course]) -> Option<Drawn> {
    let shown: Vec<&Course> = courses
        .iter()
        .filter(|course| course.slices.iter().any(|slice| slice.cwnd_bytes.is_some()))
        .take(MOST_SERIES)
        .collect();
    if shown.is_empty() {
        return None;
    }
    let mut layers = Vec::new();
    let mut said = Vec::new();
    let mut dots = Vec::new();
    for course in &shown {
        let points = course.readings(|slice| slice.cwnd_bytes);
        let windows: Vec<f64> = points
            .iter()
            .map(|point| point.1)
            .filter(|value| value.is_finite())
            .collect();
        let (low, high) = (
            view::quantile(&windows, 0.0)?,
            view::quantile(&windows, 1.0)?,
        );
        let again = course
            .slices
            .iter()
            .filter_map(|slice| slice.retransmits)
            .fold(None, |sum, one| Some(sum.unwrap_or(0.0) + one));
        let again = again.map_or(String::new(), |again| {
            format!("; {} sent again", words::count(again as u64, "segment"))
        });
        said.push(format!(
            "{}'s window lies between {}{again}",
            course.name,
            words::pair(low, high, Unit::Bytes, "and")
        ));
        dots.extend(course.slices.iter().filter_map(|slice| {
            let lossy = slice.retransmits.is_some_and(|again| again > 0.0);
            lossy.then_some((slice.end_s, slice.cwnd_bytes?))
        }));
        layers.push(Layer::Line {
            name: course.name.clone(),
            points,
        });
    }
    if !dots.is_empty() {
        layers.push(Layer::Points {
            name: "segments sent again".to_owned(),
            points: dots,
        });
    }
    let y = Axis::linear("congestion window", Quantity::Bytes).from_zero();
    let what = "The sender's congestion window at the end of each interval";
    let says: Vec<String> = said.iter().map(|one| sentence(one)).collect();
    let figure = figure_of(title, what, y, layers);
    Some(named("window", figure, says.join(" "), None))
}

/// Loss and reordering over time.
#[must_use]
pub fn loss_figure(title: &str, courses: &[Course]) -> Option<Drawn> {
    let mut layers = Vec::new();
    let mut said = Vec::new();
    for course in courses.iter().filter(|course| course.kind == Kind::Udp) {
        let known =
            |of: fn(&Slice) -> Option<f64>| course.slices.iter().any(|one| of(one).is_some());
        let sum =
            |of: fn(&Slice) -> Option<f64>| -> f64 { course.slices.iter().filter_map(of).sum() };
        if known(Slice::loss) {
            layers.push(Layer::Step {
                name: format!("{} lost", course.name),
                points: course.steps(Slice::loss),
            });
        }
        if known(Slice::reordering) {
            layers.push(Layer::Step {
                name: format!("{} out of order", course.name),
                points: course.steps(Slice::reordering),
            });
        }
        let (lost, arrived) = (sum(|slice| slice.lost), sum(|slice| slice.datagrams));
        if known(|slice| slice.lost) && lost + arrived > 0.0 {
            let lost = if lost > 0.0 {
                format!(
                    "loses {} of its datagrams",
                    about(lost / (lost + arrived), Unit::Share)
                )
            } else {
                "loses no datagram".to_owned()
            };
            let late = sum(|slice| slice.reordered);
            let late = match (known(|slice| slice.reordered), late > 0.0) {
                (false, _) => String::new(),
                (true, false) => "; none arrives out of order".to_owned(),
                (true, true) => format!(
                    "; {} of those that arrive are out of order",
                    about(late / arrived.max(1.0), Unit::Share)
                ),
            };
            said.push(sentence(&format!("{} {lost}{late}", course.name)));
        }
    }
    if layers.is_empty() {
        return None;
    }
    let y = Axis::linear("part of the datagrams", Quantity::Percent).from_zero();
    let figure = figure_of(title, "Datagrams lost and out of order", y, layers);
    Some(named("loss", figure, said.join(" "), None))
}

/// The kernel's smoothed round-trip times over time.
#[must_use]
pub fn rtt_figure(title: &str, courses: &[Course]) -> Option<Drawn> {
    let of = |slice: &Slice| slice.rtt_s;
    lines_figure(
        "rtt",
        title,
        courses,
        ("smoothed round-trip time", Quantity::Seconds, Unit::Seconds),
        &of,
    )
}

/// A quantity that was read at the end of each interval, a line for each connection.
#[must_use]
pub fn lines_figure(
    name: &str,
    title: &str,
    courses: &[Course],
    (what, quantity, unit): (&str, Quantity, Unit),
    of: &dyn Fn(&Slice) -> Option<f64>,
) -> Option<Drawn> {
    let mut layers = Vec::new();
    let mut said = Vec::new();
    for course in courses.iter().take(MOST_SERIES) {
        let points = course.readings(of);
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        let Some(median) = view::median(&values) else {
            continue;
        };
        let most = view::quantile(&values, 1.0)?;
        said.push(sentence(&format!(
            "the {what} of {} is {} in the middle and {} at most",
            course.name,
            about(median, unit),
            about(most, unit)
        )));
        layers.push(Layer::Line {
            name: course.name.clone(),
            points,
        });
    }
    if layers.is_empty() {
        return None;
    }
    let y = Axis::linear(what, quantity).from_zero();
    let figure = figure_of(title, &sentence(what), y, layers);
    Some(named(name, figure, said.join(" "), None))
}

/// An interface's name, the bytes it sent, and its rate over time.
type Carried = (String, f64, Vec<(f64, f64)>);

/// What interfaces send over time: those named, else the busier end of each link.
fn interfaces_figure(title: &str, trial: &Trial, names: &[String]) -> Option<Drawn> {
    let total = |bytes: &[u64]| {
        let (first, last) = (bytes.first().copied(), bytes.last().copied());
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0)) as f64
    };
    let named_so = |one: &caudal_experiment::InterfaceSeries| {
        let whole = format!("{}.{}", one.node, one.interface);
        names
            .iter()
            .any(|name| [&one.node, &one.interface, &one.link, &whole].contains(&name))
    };
    let mut picked: Vec<Carried> = Vec::new();
    for one in &trial.interfaces {
        if !names.is_empty() && !named_so(one) {
            continue;
        }
        let carried = total(&one.tx_bytes);
        // Both ends of a link tell of the same frames: of a link that nobody named, the busier end.
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
    let more = picked.len().saturating_sub(MOST_SERIES);
    picked.truncate(MOST_SERIES);
    if picked.is_empty() {
        return None;
    }
    let means: Vec<String> = picked
        .iter()
        .map(|(name, mean, _)| format!("{name} {}", about(*mean, Unit::BitPerSecond)))
        .collect();
    let mut says = format!("On average {} were sent.", words::list(&means));
    if more > 0 {
        says += &format!(" {more} quieter interfaces are not drawn.");
    }
    let layers = picked
        .into_iter()
        .map(|(name, _, points)| Layer::Step { name, points })
        .collect();
    let y = Axis::linear("sent by the interface", Quantity::Rate).from_zero();
    let figure = figure_of(title, "Bits sent per second, headers included", y, layers);
    Some(named("interfaces", figure, says, None))
}
