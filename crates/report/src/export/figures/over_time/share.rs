//! The figure of the share of each flow over time.

use super::time_figure::{time_figure, warm_up_end};
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about};
use crate::timeline::FlowTimeline;
use crate::timeline::quantities::length_s;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};
use caudal_stats::median;

/// Maximum number of steps of a stack, exclusive.
const MAX_STEPS: f64 = 100_000.0;

/// The goodput of each flow over time, stacked.
pub fn share_figure(
    title: &str,
    flows: &[FlowTimeline],
    from: Option<f64>,
) -> Option<CaptionedFigure> {
    let lengths: Vec<f64> = flows
        .iter()
        .flat_map(|flow| &flow.intervals)
        .map(length_s)
        .collect();
    let step = median(&lengths)?;
    let edges = step_edges(flows, step)?;
    let parts = flows
        .iter()
        .map(|flow| (flow.name.clone(), rates_in_steps(flow, &edges, step)))
        .collect();
    let mut layers = vec![Layer::Stack { edges, parts }];
    layers.extend(warm_up_end(from));
    let y = Axis::linear("goodput, stacked", AxisQuantity::Rate).from_zero();
    let figure = time_figure(title, "Payload of all flows, one upon the other", y, layers);
    Some(CaptionedFigure::new("share", figure, share_caption(flows)))
}

/// The edges of steps of about `step` seconds, from the begin of the first flow to the end of the last.
fn step_edges(flows: &[FlowTimeline], step: f64) -> Option<Vec<f64>> {
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
    let count = ((end - start) / step).round();
    if !(1.0..MAX_STEPS).contains(&count) {
        return None;
    }
    Some(
        (0..=count as usize)
            .map(|nth| start + nth as f64 * (end - start) / count)
            .collect(),
    )
}

/// The rate of a flow in each step; NaN where the record has a gap.
fn rates_in_steps(flow: &FlowTimeline, edges: &[f64], step: f64) -> Vec<f64> {
    let (first, last) = (flow.intervals.first(), flow.intervals.last());
    flow.rates_between(edges)
        .into_iter()
        .zip(edges.windows(2))
        .map(|(rate, edge)| {
            // Before a flow begins and after it ends it carries nothing; that is no gap.
            let outside = first.is_none_or(|first| edge[1] <= first.start_s + 0.5 * step)
                || last.is_none_or(|last| edge[0] >= last.end_s - 0.5 * step);
            rate.unwrap_or(if outside { 0.0 } else { f64::NAN })
        })
        .collect()
}

/// The sentence on the part of the total goodput that each flow gets.
fn share_caption(flows: &[FlowTimeline]) -> String {
    let means: Vec<f64> = flows
        .iter()
        .map(|flow| flow.mean_rate().unwrap_or(0.0))
        .collect();
    let total: f64 = means.iter().sum();
    if total <= 0.0 {
        return "Nothing arrives.".to_owned();
    }
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
}
