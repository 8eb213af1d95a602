//! What is shown, as an SVG document: the panels below one another, on one axis of time.

use crate::model::{Band, Model, TestPoint};
use caudal_plot::{Axis, AxisQuantity, Figure, Layer};
use std::fmt::Write;

/// The part of a test between two times as figures below one another; `None` where there is nothing to draw.
#[must_use]
pub(crate) fn panels_svg(model: &Model, (from_s, to_s): (f64, f64)) -> Option<String> {
    let points: Vec<&TestPoint> = model
        .until(to_s)
        .iter()
        .filter(|point| point.end_s > from_s)
        .collect();
    let mut rates = Vec::new();
    for (name, value) in [
        (
            "upload",
            (|point| point.up_bps) as fn(&TestPoint) -> Option<f64>,
        ),
        ("download", |point| point.down_bps),
    ] {
        rates.extend(steps(name, &points, value));
    }
    let mut figures = vec![
        (rates, "Goodput", AxisQuantity::Rate),
        (
            steps("connections per second", &points, |point| {
                point.connections_per_s
            })
            .into_iter()
            .collect(),
            "Connections per second",
            AxisQuantity::Number,
        ),
        (latency(&points), "Round-trip time", AxisQuantity::Seconds),
        (
            steps("lost or retransmitted", &points, |point| point.loss)
                .into_iter()
                .collect(),
            "Loss",
            AxisQuantity::Percent,
        ),
    ];
    figures.retain(|(layers, ..)| !layers.is_empty());
    if figures.is_empty() {
        return None;
    }
    let (width, height) = Figure::SIZE;
    let whole = height * figures.len() as u32;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {whole}\" width=\"{width}\" height=\"{whole}\">\n"
    );
    for (place, (mut layers, title, quantity)) in figures.into_iter().enumerate() {
        layers.extend(model.marks_s.iter().map(|&at| Layer::Event {
            at,
            label: "mark".to_owned(),
        }));
        let figure = Figure {
            title: match place {
                0 => format!("{title}: {}", model.headline),
                _ => title.to_owned(),
            },
            description: format!("{title} over the time of the test."),
            x: Axis::linear("time", AxisQuantity::Seconds).including(&[from_s, to_s]),
            y: Axis::linear(&title.to_lowercase(), quantity).from_zero(),
            layers,
            size: Figure::SIZE,
            note: None,
        };
        let y = height * place as u32;
        let _ = writeln!(
            svg,
            "<g transform=\"translate(0 {y})\">{}</g>",
            figure.svg()
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// A value over time as steps; `None` where no interval has it.
fn steps(
    name: &str,
    points: &[&TestPoint],
    value: impl Fn(&TestPoint) -> Option<f64>,
) -> Option<Layer> {
    points.iter().find_map(|point| value(point))?;
    let mut steps: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.start_s, value(point).unwrap_or(f64::NAN)))
        .collect();
    steps.extend(points.last().map(|last| (last.end_s, f64::NAN)));
    Some(Layer::Step {
        name: name.to_owned(),
        points: steps,
    })
}

/// The round-trip times, s: from the smallest to the largest, and in the middle.
fn latency(points: &[&TestPoint]) -> Vec<Layer> {
    let known = || {
        let middle = |point: &&TestPoint| (point.start_s + point.end_s) / 2.0;
        points
            .iter()
            .filter_map(move |point| Some((middle(point), point.rtt_us?)))
    };
    if known().next().is_none() {
        return Vec::new();
    }
    let name = "round-trip time".to_owned();
    vec![
        Layer::Band {
            name: name.clone(),
            points: known()
                .map(|(at, Band { low, high, .. })| (at, low / 1e6, high / 1e6))
                .collect(),
        },
        Layer::Line {
            name,
            points: known().map(|(at, band)| (at, band.middle / 1e6)).collect(),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_a_panel_for_each_quantity_that_was_measured() {
        let point = |second: u32| TestPoint {
            start_s: f64::from(second),
            end_s: f64::from(second + 1),
            up_bps: Some(5e7),
            rtt_us: Some(Band {
                low: 1000.0,
                middle: 2000.0,
                high: 3000.0,
            }),
            ..TestPoint::default()
        };
        let model = Model {
            points: (0..5).map(point).collect(),
            marks_s: vec![2.5],
            ..Model::new("tcp to <script>")
        };
        let svg = panels_svg(&model, (0.0, 5.0)).unwrap();
        assert!(svg.contains("Goodput") && svg.contains("Round-trip time"));
        assert!(!svg.contains("Loss") && svg.contains("mark"));
        assert!(!svg.contains("<script>"));
        assert_eq!(panels_svg(&Model::new(""), (0.0, 9.0)), None);
    }
}
