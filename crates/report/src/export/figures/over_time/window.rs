//! The figure of congestion windows over time.

use super::time_figure::time_figure;
use crate::export::figures::selection::MAX_SERIES;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, sentence};
use crate::timeline::FlowTimeline;
use crate::timeline::quantities::{cwnd_bytes, retransmits};
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};
use caudal_stats::quantile;

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
    let figure = time_figure(title, what, y, layers);
    Some(CaptionedFigure::new("window", figure, caption.join(" ")))
}
