//! The parts that all figures over time have.

use crate::export::wording;
use crate::timeline::FlowTimeline;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};

/// A figure whose horizontal axis is time, of `what` its layers show.
pub fn time_figure(title: &str, what: &str, y: Axis, layers: Vec<Layer>) -> Figure {
    Figure {
        title: title.to_owned(),
        description: format!("{what}; time runs from left to right."),
        x: Axis::linear("time", AxisQuantity::Seconds).from_zero(),
        y,
        layers,
        size: Figure::SIZE,
        note: None,
    }
}

/// The end of the warm-up as an event, where there is one.
pub fn warm_up_end(from: Option<f64>) -> Option<Layer> {
    from.map(|at| Layer::Event {
        at,
        label: "measured from here".to_owned(),
    })
}

/// The sentence on gaps.
pub fn gaps_sentence(flows: &[FlowTimeline]) -> Option<String> {
    let gaps: usize = flows.iter().map(FlowTimeline::gaps).sum();
    (gaps > 0).then(|| {
        format!(
            "{} in the record {} shown as such.",
            wording::count(gaps as u64, "gap"),
            if gaps == 1 { "is" } else { "are" }
        )
    })
}
