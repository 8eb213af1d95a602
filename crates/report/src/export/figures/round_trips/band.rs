//! The band of round trips over time.

use super::start_times::{round_trips_of_run, timed_round_trips};
use crate::export::figures::over_time::with_episodes;
use crate::export::figures::study_material::echo_flows;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about, sentence};
use crate::round_trip_series::RoundTripSeries;
use caudal_core::episode::Episode;
use caudal_core::quantity::Unit;
use caudal_experiment::Trial;
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use caudal_stats::{median, quantile};
use caudal_store::SampleSeries;

/// Maximum number of parts of a band, and the minimum number of samples of each.
const MAX_PARTS: usize = 60;
const MIN_SAMPLES: usize = 20;

/// Round trips of a trial's echo flows over time: median and the band from the 5th to the 95th percentile. `None` where no
/// times are known.
pub fn band_figure(title: &str, trial: &Trial, series: &[SampleSeries]) -> Option<CaptionedFigure> {
    let mut layers = Vec::new();
    let mut sentences = Vec::new();
    for (number, flow) in echo_flows(trial) {
        let Some(points) = timed_round_trips(number, flow, series) else {
            continue;
        };
        let Some(text) = band_sentence(&flow.name, &points) else {
            continue;
        };
        layers.extend(band_layers(&flow.name, points));
        sentences.push(text);
    }
    if layers.is_empty() {
        return None;
    }
    let figure = over_time(title, layers);
    Some(CaptionedFigure::new("rtt", figure, sentences.join(" ")))
}

/// Round trips of a run over time, with its episodes behind them. `None` where no times are known.
pub fn run_over_time_figure(
    title: &str,
    trips: &[RoundTripSeries],
    episodes: &[Episode],
) -> Option<CaptionedFigure> {
    let points = round_trips_of_run(trips)?;
    let text = band_sentence("a message", &points)?;
    let end_s = points.last()?.0;
    let figure = over_time(title, band_layers("round trips", points));
    let figure = CaptionedFigure::new("rtt over time", figure, text);
    Some(with_episodes(figure, episodes, end_s))
}

fn over_time(title: &str, layers: Vec<Layer>) -> Figure {
    Figure {
        title: title.to_owned(),
        description: "Round-trip times over time: the median, and the band from the 5th to the 95th percentile."
            .to_owned(),
        x: Axis::linear("time", AxisQuantity::Seconds),
        y: Axis::linear("round-trip time", AxisQuantity::Seconds).from_zero(),
        layers,
        size: Figure::SIZE,
        note: None,
    }
}

/// The median, the 5th and the 95th percentile, and the losses of a flow, in words; `None` where nothing came back.
fn band_sentence(name: &str, points: &[(f64, f64)]) -> Option<String> {
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let lost = values.iter().filter(|value| value.is_nan()).count();
    let half = median(&values)?;
    let (low, high) = (quantile(&values, 0.05)?, quantile(&values, 0.95)?);
    let lost = if lost > 0 {
        format!(
            "; {} did not come back",
            wording::count(lost as u64, "message")
        )
    } else {
        String::new()
    };
    Some(sentence(&format!(
        "the median round trip of {name} is {}, nine in ten lie between {}{lost}",
        about(half, Unit::Seconds),
        wording::pair(low, high, Unit::Seconds, "and")
    )))
}

/// A band with the line of its medians or, of few round trips, a dot each.
fn band_layers(name: &str, points: Vec<(f64, f64)>) -> Vec<Layer> {
    let name = name.to_owned();
    let parts = (points.len() / MIN_SAMPLES).min(MAX_PARTS);
    if parts < 3 {
        let points = points.into_iter().filter(|point| point.1.is_finite());
        return vec![Layer::Points {
            name,
            points: points.collect(),
        }];
    }
    let (band, medians) = percentiles_by_time(&points, parts);
    vec![
        Layer::Band {
            name: name.clone(),
            points: band,
        },
        Layer::Line {
            name,
            points: medians,
        },
    ]
}

/// The points of a band (time, 5th and 95th percentile) and of the line of its medians.
type BandAndMedians = (Vec<(f64, f64, f64)>, Vec<(f64, f64)>);

/// The percentiles of the round trips in each of so many parts of the time.
fn percentiles_by_time(points: &[(f64, f64)], parts: usize) -> BandAndMedians {
    let start = points.first().map_or(0.0, |point| point.0);
    let end = points.last().map_or(1.0, |point| point.0);
    let width = ((end - start) / parts as f64).max(1e-9);
    let (mut band, mut line) = (Vec::new(), Vec::new());
    for nth in 0..parts {
        let (from, to) = (start + nth as f64 * width, start + (nth + 1) as f64 * width);
        let last = nth + 1 == parts;
        let inside: Vec<f64> = points
            .iter()
            .filter(|point| point.0 >= from && (point.0 < to || last))
            .map(|point| point.1)
            .collect();
        let at = f64::midpoint(from, to);
        let percentile = |share| quantile(&inside, share).unwrap_or(f64::NAN);
        band.push((at, percentile(0.05), percentile(0.95)));
        line.push((at, percentile(0.5)));
    }
    (band, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::episode::EpisodeKind;

    fn series(at_s: &[f64], values_s: &[f64]) -> RoundTripSeries {
        RoundTripSeries {
            at_s: at_s.to_vec(),
            values_s: values_s.to_vec(),
            ..RoundTripSeries::default()
        }
    }

    #[test]
    fn round_trips_of_a_run_are_drawn_over_the_time_that_is_known() {
        let drawn = |trips: &[RoundTripSeries]| {
            let figure = run_over_time_figure("Round trips", trips, &[])?;
            match figure.figure.layers.first() {
                Some(Layer::Points { points, .. }) => Some(points.clone()),
                other => panic!("{other:?}"),
            }
        };
        // On a schedule, by its times; a message without a reply has no point.
        let scheduled = series(&[0.0, 0.5, 1.0], &[0.01, f64::NAN, 0.02]);
        assert_eq!(
            drawn(std::slice::from_ref(&scheduled)),
            Some(vec![(0.0, 0.01), (1.0, 0.02)])
        );
        // One after the other, by what each took; with several connections nobody knows.
        let in_turn = series(&[], &[0.25, 0.5]);
        assert_eq!(
            drawn(std::slice::from_ref(&in_turn)),
            Some(vec![(0.0, 0.25), (0.25, 0.5)])
        );
        assert_eq!(drawn(&[in_turn.clone(), in_turn]), None);
        assert_eq!(drawn(&[series(&[], &[0.25, f64::NAN])]), None);
        assert_eq!(drawn(&[]), None);
    }

    #[test]
    fn episodes_are_behind_round_trips_up_to_the_last_one() {
        let delay = Episode {
            kind: EpisodeKind::Delay,
            from_s: 0.4,
            to_s: Some(9.0),
            direction: None,
            evidence: String::new(),
        };
        let trips = [series(&[0.0, 0.5, 1.0], &[0.01, 0.04, 0.02])];
        let figure = run_over_time_figure("Round trips", &trips, &[delay]).unwrap();
        let Layer::Span { from, to, .. } = &figure.figure.layers[0] else {
            panic!("another layer");
        };
        assert_eq!((*from, *to), (0.4, 1.0));
    }
}
