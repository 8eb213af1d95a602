//! The parts that all figures over time have.

use crate::export::page::CaptionedFigure;
use crate::export::wording;
use crate::timeline::FlowTimeline;
use caudal_core::episode::Episode;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};

/// Maximum number of episodes that a figure shows.
const MAX_SPANS: usize = 20;

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

/// A figure over the time of a run that ends at `end_s`, with its episodes behind what it shows.
#[must_use]
pub fn with_episodes(
    mut captioned: CaptionedFigure,
    episodes: &[Episode],
    end_s: f64,
) -> CaptionedFigure {
    let drawn = episodes.iter().take(MAX_SPANS);
    let spans = drawn.map(|episode| Layer::Span {
        from: episode.from_s.min(end_s),
        to: episode.to_s.unwrap_or(end_s).min(end_s),
        label: episode.kind.names().0.to_owned(),
    });
    captioned.figure.layers.splice(0..0, spans);
    captioned
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
