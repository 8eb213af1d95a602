//! The figure of loss and reordering over time.

use super::time_figure::time_figure;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{about, sentence};
use crate::timeline::FlowTimeline;
use crate::timeline::quantities::{datagrams, loss, lost, reordered, reordering};
use caudal_core::interval::Interval;
use caudal_core::plan::PlanKind;
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};

/// Loss and reordering over time; `None` where no datagram was lost or out of order.
#[must_use]
pub fn loss_figure(title: &str, flows: &[FlowTimeline]) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for flow in flows.iter().filter(|flow| flow.kind == PlanKind::Udp) {
        layers.extend(share_layer(flow, "lost", loss));
        layers.extend(share_layer(flow, "out of order", reordering));
        sentences.extend(loss_sentence(flow));
    }
    if layers.is_empty() {
        return None;
    }
    let y = Axis::linear("part of the datagrams", AxisQuantity::Percent).from_zero();
    let figure = time_figure(title, "Datagrams lost and out of order", y, layers);
    Some(CaptionedFigure::new("loss", figure, sentences.join(" ")))
}

/// A quantity of an interval; `None` where it is unknown.
type IntervalQuantity = fn(&Interval) -> Option<f64>;

fn is_known(flow: &FlowTimeline, quantity: IntervalQuantity) -> bool {
    flow.intervals.iter().any(|one| quantity(one).is_some())
}

/// A share of a flow's datagrams over time, where it is known and not zero throughout.
fn share_layer(flow: &FlowTimeline, what: &str, share: IntervalQuantity) -> Option<Layer> {
    let mut shares = flow.intervals.iter().filter_map(share);
    shares.any(|share| share > 0.0).then(|| Layer::Step {
        name: format!("{} {what}", flow.name),
        points: flow.steps(share),
    })
}

/// The sentence on the datagrams that a flow lost and those out of order, where its loss is known.
fn loss_sentence(flow: &FlowTimeline) -> Option<String> {
    let sum =
        |quantity: IntervalQuantity| -> f64 { flow.intervals.iter().filter_map(quantity).sum() };
    let (missing, arrived) = (sum(lost), sum(datagrams));
    if !is_known(flow, lost) || missing + arrived <= 0.0 {
        return None;
    }
    let loss = if missing > 0.0 {
        format!(
            "loses {} of its datagrams",
            about(missing / (missing + arrived), Unit::Share)
        )
    } else {
        "loses no datagram".to_owned()
    };
    let late = sum(reordered);
    let late = match (is_known(flow, reordered), late > 0.0) {
        (false, _) => String::new(),
        (true, false) => "; none arrives out of order".to_owned(),
        (true, true) => format!(
            "; {} of those that arrive are out of order",
            about(late / arrived.max(1.0), Unit::Share)
        ),
    };
    Some(sentence(&format!("{} {loss}{late}", flow.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::interval::UdpInterval;

    fn flow(losses: &[i64]) -> FlowTimeline {
        let interval = |(nth, lost): (usize, &i64)| Interval {
            udp: Some(UdpInterval {
                datagrams: Some(100 - lost.unsigned_abs()),
                lost: Some(*lost),
                reordered: Some(0),
                ..UdpInterval::default()
            }),
            ..crate::timeline::test_intervals::interval(nth as f64, nth as f64 + 1.0, 125)
        };
        FlowTimeline {
            name: "UDP".to_owned(),
            kind: PlanKind::Udp,
            intervals: losses.iter().enumerate().map(interval).collect(),
        }
    }

    #[test]
    fn there_is_no_figure_of_loss_where_nothing_was_lost() {
        assert_eq!(loss_figure("", &[flow(&[0, 0, 0])]), None);
        let drawn = loss_figure("", &[flow(&[0, 5, 0]), flow(&[0, 0, 0])]).unwrap();
        assert_eq!(drawn.figure.layers.len(), 1, "{:?}", drawn.figure.layers);
    }
}
