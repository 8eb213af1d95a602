//! The figure of rates over time.

use super::time_figure::{gaps_sentence, time_figure, warm_up_end};
use crate::export::figures::selection::MAX_SERIES;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about, sentence};
use crate::timeline::FlowTimeline;
use crate::timeline::quantities::goodput_bps;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};

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
    layers.extend(warm_up_end(from));
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
    if let Some(gaps) = gaps_sentence(flows) {
        caption = format!("{caption} {gaps}");
    }
    let y = Axis::linear("goodput", AxisQuantity::Rate).from_zero();
    let figure = time_figure(title, "Payload that arrived per second", y, layers);
    Some(CaptionedFigure::new("rates", figure, caption))
}
