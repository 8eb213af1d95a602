//! The sequence diagram and the graphs of a flow as SVG.

use super::chosen_flow::ChosenFlow;
use super::ladder_text::{step_words, time};
use caudal_capture::{FlowGraph, FrameDirection, GraphKind, GraphSeries, Ladder};
use caudal_core::quantity::short;
use caudal_plot::{Axis, AxisQuantity, Figure, LadderArrow, LadderFigure, LadderWay, Layer};

/// The graph of a flow as a figure.
#[must_use]
pub fn graph_figure(graph: &FlowGraph, chosen: &ChosenFlow) -> Figure {
    let drawn = drawn_series(graph);
    let is_time = graph.unit == "µs";
    let quantity = match graph.unit.as_str() {
        "bit/s" => AxisQuantity::Rate,
        "µs" => AxisQuantity::Seconds,
        _ => AxisQuantity::Bytes,
    };
    let (label, what) = match graph.kind {
        GraphKind::TimeSequence => ("sequence number", "Sequence numbers"),
        GraphKind::Throughput => ("rate", "Throughput"),
        GraphKind::Rtt => ("round-trip time", "Round-trip times"),
        GraphKind::Inflight => ("in flight", "Bytes in flight"),
        GraphKind::Window => ("window", "Advertised windows"),
    };
    let layers = drawn
        .iter()
        .map(|series| layer(graph.kind, series, is_time));
    let flow = chosen.title();
    Figure {
        title: format!("{what}, {flow}"),
        description: format!("{what} of {flow} over time, as captured"),
        x: Axis::linear("time after the first frame", AxisQuantity::Seconds).from_zero(),
        y: Axis::linear(label, quantity).from_zero(),
        layers: layers.collect(),
        size: Figure::SIZE,
        note: note(&drawn),
    }
}

/// The series that share an axis: sequence numbers of the direction that carried more, everything else of both.
fn drawn_series(graph: &FlowGraph) -> Vec<&GraphSeries> {
    let all = graph.series.iter();
    if graph.kind != GraphKind::TimeSequence {
        return all.collect();
    }
    let highest = |series: &GraphSeries| {
        let values = series.points.iter().map(|point| point.value);
        values.fold(0.0, f64::max)
    };
    let segments = all.clone().filter(|series| series.name == "segments");
    let main = segments.max_by(|a, b| highest(a).total_cmp(&highest(b)));
    match main {
        None => all.collect(),
        Some(main) => all.filter(|one| one.direction == main.direction).collect(),
    }
}

fn layer(kind: GraphKind, series: &GraphSeries, is_time: bool) -> Layer {
    let way = match series.direction {
        FrameDirection::ToServer => "to server",
        FrameDirection::ToClient => "to client",
    };
    let name = format!("{} {way}", series.name);
    let divisor = if is_time { 1e6 } else { 1.0 };
    let points = series.points.iter();
    let mut points: Vec<(f64, f64)> = points
        .map(|point| (point.time_s, point.value / divisor))
        .collect();
    if let (GraphKind::Throughput, [(first, _), (second, _), .., (last, value)]) =
        (kind, &points[..])
    {
        // A bin lasts to its end.
        points.push((last + second - first, *value));
    }
    let is_samples = matches!(kind, GraphKind::Rtt)
        || matches!(series.name.as_str(), "segments" | "retransmissions");
    if is_samples {
        Layer::Points { name, points }
    } else {
        Layer::Step { name, points }
    }
}

/// What the points of thinned series stand for.
fn note(drawn: &[&GraphSeries]) -> Option<String> {
    let stride = drawn.iter().map(|series| series.stride).max()?;
    (stride > 1).then(|| {
        format!(
            "Of the longest series one of {} samples is drawn.",
            short(stride as f64)
        )
    })
}

/// The sequence diagram of a flow as a figure.
#[must_use]
pub fn ladder_figure(ladder: &Ladder, chosen: &ChosenFlow) -> LadderFigure {
    let arrows = ladder.steps.iter().map(|step| LadderArrow {
        way: match step.direction {
            FrameDirection::ToServer => LadderWay::Right,
            FrameDirection::ToClient => LadderWay::Left,
        },
        time: format!("{} s", time(step).trim_start()),
        number: step.frame.to_string(),
        words: step_words(step),
        remark: step.label.to_string(),
    });
    let flow = chosen.title();
    LadderFigure {
        title: format!("Sequence diagram, {flow}"),
        description: format!("The frames of {flow} in their order"),
        left: ladder.client.to_string(),
        right: ladder.server.to_string(),
        arrows: arrows.collect(),
        note: (ladder.left_out > 0).then(|| {
            format!(
                "{} more frames are not drawn.",
                short(ladder.left_out as f64)
            )
        }),
    }
}
