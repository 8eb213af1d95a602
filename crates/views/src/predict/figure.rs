//! A sweep as a figure.

use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer, Scale};
use caudal_predict::question::{
    EvaluatedPredictions, Evaluation, Parameter, ParameterKind, RangeSpacing, SweepPoint,
};

/// Minimum ratio of the largest to the smallest value for a logarithmic axis.
const MIN_LOG_RATIO: f64 = 30.0;
/// The same for the values of the parameter, which may double from point to point.
const MIN_LOG_RATIO_OF_PARAMETER: f64 = 100.0;

/// The sweep as a figure: the predictions shown that have the unit of the first; `None` where nothing is swept, or no value of the sweep
/// gives a prediction.
#[must_use]
pub fn sweep_figure(evaluation: &Evaluation) -> Option<Figure> {
    let EvaluatedPredictions::Sweep(parameter, points) = &evaluation.predictions else {
        return None;
    };
    let drawn = drawn_predictions(evaluation, points);
    let first = drawn.first()?;
    let lines: Vec<Vec<(f64, f64)>> = drawn
        .iter()
        .map(|prediction| line(&prediction.name, points))
        .collect();
    let y = y_axis(first.unit, lines.iter().flatten().map(|point| point.1));
    let layers = drawn
        .iter()
        .zip(lines)
        .map(|(prediction, points)| Layer::Line {
            name: prediction.title.clone(),
            points,
        })
        .collect();
    let (subject, given) = (&evaluation.subject, evaluation.given());
    let title = subject.split(':').next().unwrap_or("Prediction");
    Some(Figure {
        title: format!("{title}: {given}"),
        description: format!("{subject}; {given}; by formula, no measurement"),
        x: x_axis(parameter, points),
        y,
        layers,
        size: Figure::SIZE,
        note: None,
    })
}

/// One prediction for each line: those with a column that have the unit of the first column.
fn drawn_predictions<'a>(evaluation: &Evaluation, points: &'a [SweepPoint]) -> Vec<&'a Prediction> {
    let names = evaluation.shown_names(points);
    let mut drawn: Vec<&Prediction> = names
        .iter()
        .filter_map(|name| points.iter().find_map(|point| point.prediction(name)))
        .collect();
    if let Some(unit) = drawn.first().map(|first| first.unit) {
        drawn.retain(|prediction| prediction.unit == unit);
    }
    drawn
}

/// The points of one line; NaN where a value of the sweep gives no such prediction.
fn line(name: &str, points: &[SweepPoint]) -> Vec<(f64, f64)> {
    let value = |point: &SweepPoint| {
        point
            .prediction(name)
            .map_or(f64::NAN, |prediction| prediction.value)
    };
    points
        .iter()
        .map(|point| (point.value, value(point)))
        .collect()
}

fn x_axis(parameter: &Parameter, points: &[SweepPoint]) -> Axis {
    let title = match parameter.name {
        "mtu" => "MTU".to_owned(),
        "rtt" => "round-trip time".to_owned(),
        "bytes" => "amount of data".to_owned(),
        "length" => "payload of a datagram".to_owned(),
        "message" | "sizes" => "message size".to_owned(),
        name => name.replace('-', " "),
    };
    let above_zero = points
        .iter()
        .map(|point| point.value)
        .filter(|value| *value > 0.0);
    let (min, max) = range(above_zero);
    let scale = if max / min > MIN_LOG_RATIO_OF_PARAMETER {
        Scale::Log
    } else {
        match parameter.kind.spacing() {
            RangeSpacing::Linear => Scale::Linear,
            RangeSpacing::Logarithmic => Scale::Log,
        }
    };
    let quantity = match parameter.kind {
        ParameterKind::Rate => AxisQuantity::Rate,
        ParameterKind::Amount | ParameterKind::Packet => AxisQuantity::Bytes,
        ParameterKind::Time => AxisQuantity::Seconds,
        ParameterKind::Share => AxisQuantity::Percent,
        ParameterKind::Count => AxisQuantity::Number,
    };
    Axis::new(&title, quantity, scale)
}

fn y_axis(unit: Unit, values: impl Iterator<Item = f64>) -> Axis {
    let (min, max) = range(values.filter(|value| value.is_finite()));
    // On a linear axis values of several decades cannot be distinguished.
    let scale = if min > 0.0 && max / min > MIN_LOG_RATIO {
        Scale::Log
    } else {
        Scale::Linear
    };
    let quantity = match unit {
        Unit::BitPerSecond => AxisQuantity::Rate,
        Unit::Bytes => AxisQuantity::Bytes,
        Unit::Seconds => AxisQuantity::Seconds,
        Unit::Share => AxisQuantity::Percent,
        _ => AxisQuantity::Number,
    };
    let title = match unit {
        Unit::BitPerSecond => "goodput",
        Unit::Bytes => "bytes",
        Unit::Seconds => "time",
        Unit::Share => "share",
        Unit::Efficiency => "fraction of the time",
        other => other.name(),
    };
    Axis {
        from_zero: min < 0.5 * max,
        ..Axis::new(title, quantity, scale)
    }
}

/// The smallest and the largest value; infinity and minus infinity when there is none.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), value| {
        (min.min(value), max.max(value))
    })
}
