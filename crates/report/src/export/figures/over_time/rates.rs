//! The figure of rates over time.

use super::time_figure::{gaps_sentence, time_figure, warm_up_end};
use crate::export::figures::selection::MAX_SERIES;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about, sentence};
use crate::timeline::FlowTimeline;
use crate::timeline::quantities::goodput_bps;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};

/// Rates over time: a line for each of the `totals` over several connections, then one for each connection or flow.
#[must_use]
pub fn rates_figure(
    title: &str,
    flows: &[FlowTimeline],
    totals: &[FlowTimeline],
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
    let drawn = || totals.iter().chain(shown.iter().take(MAX_SERIES).copied());
    let mut layers: Vec<Layer> = drawn()
        .map(|flow| Layer::Step {
            name: flow.name.clone(),
            points: flow.steps(goodput_bps),
        })
        .collect();
    layers.extend(warm_up_end(from));
    let means: Vec<String> = drawn()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::test_intervals::{interval, run_of};
    use crate::timeline::{flows_of_run, totals_of_run};
    use caudal_core::run::Run;

    #[test]
    fn several_connections_have_their_total_drawn_first() {
        let one = run_of(vec![
            interval(0.0, 1.0, 125_000),
            interval(1.0, 2.0, 125_000),
        ]);
        let mut second = one.flows()[0].clone();
        second.flow.id = 1;
        let flows = vec![one.flows()[0].clone(), second];
        let both = Run {
            flows: Some(flows),
            ..one.clone()
        };
        let figure = |run: &Run| {
            let (flows, totals) = (flows_of_run(run, 0.0), totals_of_run(run, 0.0));
            rates_figure("", &flows, &totals, None).unwrap()
        };
        let drawn = figure(&both);
        let Layer::Step { name, points } = &drawn.figure.layers[0] else {
            panic!("{:?}", drawn.figure.layers);
        };
        assert_eq!((name.as_str(), points[0].1), ("total", 2e6));
        assert_eq!(drawn.figure.layers.len(), 3);
        assert!(
            drawn.caption.starts_with("Total averages 2 Mbit/s"),
            "{}",
            drawn.caption
        );
        assert_eq!(figure(&one).figure.layers.len(), 1);
    }
}
