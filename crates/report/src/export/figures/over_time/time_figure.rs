//! The parts that all figures over time have.

use crate::export::page::CaptionedFigure;
use crate::export::wording;
use crate::timeline::FlowTimeline;
use caudal_core::episode::Episode;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use caudal_store::SampleSeries;

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
    // All figures of a run have one axis of time.
    captioned.figure.x = captioned.figure.x.including(&[end_s]);
    captioned
}

/// A figure over the time of a run with the moments that its user marked.
#[must_use]
pub fn with_marks(mut captioned: CaptionedFigure, marks_s: &[f64]) -> CaptionedFigure {
    let marks = marks_s.iter().take(MAX_SPANS).map(|&at| Layer::Event {
        at,
        label: "mark".to_owned(),
    });
    captioned.figure.layers.extend(marks);
    captioned
}

/// A figure with horizontal lines at these values, each with its label.
#[must_use]
pub fn with_rules(
    mut captioned: CaptionedFigure,
    rules: impl IntoIterator<Item = (f64, &'static str)>,
) -> CaptionedFigure {
    for (at, label) in rules {
        captioned.figure.y = captioned.figure.y.including(&[at]);
        captioned.figure.layers.push(Layer::Rule {
            at,
            label: label.to_owned(),
        });
    }
    captioned
}

/// A figure of rates with the rate of each direction from one reading of the receiver to the next behind its intervals.
#[must_use]
pub fn with_arrivals(mut captioned: CaptionedFigure, series: &[SampleSeries]) -> CaptionedFigure {
    let drawn = series.iter().filter_map(|bytes| {
        let direction = bytes.name.strip_prefix("arrived ")?;
        let at = series
            .iter()
            .find(|one| one.name == format!("{} at", bytes.name))?;
        let mut start_s = 0.0;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at_ns, bytes) in at.values.iter().zip(&bytes.values) {
            let end_s = at_ns / 1e9;
            if end_s > start_s {
                points.push((start_s, bytes * 8.0 / (end_s - start_s)));
            }
            start_s = end_s;
        }
        let last = points.last()?.1;
        points.push((start_s, last));
        Some(Layer::Step {
            name: format!("{direction}, each reading"),
            points,
        })
    });
    let drawn: Vec<Layer> = drawn.collect();
    captioned.figure.layers.splice(0..0, drawn);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, unit: &str, values: &[f64]) -> SampleSeries {
        SampleSeries {
            flow: 0,
            name: name.to_owned(),
            unit: unit.to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn readings_are_rates_from_one_to_the_next_and_rules_are_within_the_axis() {
        let y = Axis::linear("goodput", AxisQuantity::Rate).from_zero();
        let figure = time_figure("Goodput", "Rates", y, Vec::new());
        let captioned = CaptionedFigure::new("rates", figure, String::new());
        let series = [
            series("arrived down at", "ns", &[50e6, 100e6, 200e6]),
            series("arrived down", "B", &[0.0, 62_500.0, 125_000.0]),
            // Without its times, or of another quantity.
            series("arrived up", "B", &[1.0]),
            series("rtt 64 B", "ns", &[1.0]),
        ];
        let drawn = with_rules(with_arrivals(captioned, &series), [(20e6, "limit")]);
        let [Layer::Step { name, points }, Layer::Rule { at, .. }] = &drawn.figure.layers[..]
        else {
            panic!("{:?}", drawn.figure.layers);
        };
        assert_eq!((name.as_str(), *at), ("down, each reading", 20e6));
        assert_eq!(
            points,
            &[(0.0, 0.0), (0.05, 10e6), (0.1, 10e6), (0.2, 10e6)]
        );
    }
}
