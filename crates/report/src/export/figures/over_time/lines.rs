//! Figures of a quantity that was read at the end of each interval.

use super::time_figure::time_figure;
use crate::export::figures::selection::MAX_SERIES;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{about, sentence};
use crate::timeline::FlowTimeline;
use crate::timeline::quantities::rtt_s;
use caudal_core::interval::Interval;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};
use caudal_stats::{median, quantile};

/// The kernel's smoothed round-trip times over time.
#[must_use]
pub fn rtt_figure(title: &str, flows: &[FlowTimeline]) -> Option<CaptionedFigure> {
    lines_figure(
        "rtt",
        title,
        flows,
        (
            "smoothed round-trip time",
            AxisQuantity::Seconds,
            Unit::Seconds,
        ),
        &rtt_s,
    )
}

/// A quantity that was read at the end of each interval, a line for each connection.
#[must_use]
pub fn lines_figure(
    name: &str,
    title: &str,
    flows: &[FlowTimeline],
    (what, quantity, unit): (&str, AxisQuantity, Unit),
    reading: &dyn Fn(&Interval) -> Option<f64>,
) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for flow in flows.iter().take(MAX_SERIES) {
        let points = flow.readings(reading);
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
    let figure = time_figure(title, &sentence(what), y, layers);
    Some(CaptionedFigure::new(name, figure, sentences.join(" ")))
}
