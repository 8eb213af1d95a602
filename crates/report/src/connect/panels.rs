//! The figures of a test of the connection rate: the rate, and the times to connect, on one time axis.

use crate::export::figures::time_figure;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{about, sentence};
use caudal_core::connect::{ConnectInterval, ConnectReport};
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};

/// The width and height of a figure in pixels.
const PANEL: (u32, u32) = (800, 300);

/// The figures, from the top: the rate, the times to connect.
#[must_use]
pub(super) fn panels(report: &ConnectReport) -> Vec<CaptionedFigure> {
    vec![rate(report), times(report)]
}

fn rate(report: &ConnectReport) -> CaptionedFigure {
    let mut layers = vec![steps(report, "completed", |one| Some(one.per_s))];
    if report.failures.total() > 0 {
        layers.push(steps(report, "failed", |one| {
            let length_s = one.end_s - one.start_s;
            (length_s > 0.0).then(|| one.failed as f64 / length_s)
        }));
    }
    let mean = report.per_s.map_or_else(String::new, |per_s| {
        format!(
            "{} on average",
            about(per_s.mean, Unit::ConnectionsPerSecond)
        )
    });
    let axis = Axis::linear("connections per second", AxisQuantity::Number).from_zero();
    panel(
        report,
        "connections",
        "Connection rate",
        axis,
        layers,
        &mean,
    )
}

fn times(report: &ConnectReport) -> CaptionedFigure {
    let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
    let mut layers = vec![
        steps(report, "connect, 99th percentile", |one| {
            seconds(one.connect_p99_us)
        }),
        steps(report, "connect, median", |one| seconds(one.connect_p50_us)),
        steps(report, "TLS handshake, median", |one| {
            seconds(one.handshake_p50_us)
        }),
        steps(report, "first byte, median", |one| {
            seconds(one.first_byte_p50_us)
        }),
    ];
    let has_points = |layer: &Layer| matches!(layer, Layer::Step { points, .. } if points.iter().any(|point| point.1.is_finite()));
    layers.retain(has_points);
    let median = report.connect.map_or_else(String::new, |times| {
        format!(
            "the median of the times to connect is {}",
            about(times.p50_us / 1e6, Unit::Seconds)
        )
    });
    let axis = Axis::linear("time", AxisQuantity::Seconds).from_zero();
    panel(report, "times", "Times", axis, layers, &median)
}

fn panel(
    report: &ConnectReport,
    name: &str,
    title: &str,
    y: Axis,
    layers: Vec<Layer>,
    caption: &str,
) -> CaptionedFigure {
    let mut figure = time_figure(title, title, y, layers);
    let end_s = report.intervals.last().map_or(0.0, |last| last.end_s);
    figure.x = figure.x.including(&[0.0, end_s]);
    figure.size = PANEL;
    CaptionedFigure::new(name, figure, sentence(caption))
}

/// A quantity over time, a gap where there is none.
fn steps(
    report: &ConnectReport,
    name: &str,
    value: impl Fn(&ConnectInterval) -> Option<f64>,
) -> Layer {
    let each = report.intervals.iter();
    let mut points: Vec<(f64, f64)> = each
        .map(|one| (one.start_s, value(one).unwrap_or(f64::NAN)))
        .collect();
    if let Some(last) = report.intervals.last() {
        points.push((last.end_s, f64::NAN));
    }
    Layer::Step {
        name: name.to_owned(),
        points,
    }
}
