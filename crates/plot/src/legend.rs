//! The series of a figure: their names, their colours, and the legend under the title.

use super::draw::{LINE_HEIGHT, MARGIN, TEXT_SIZE, text};
use super::layers::{self, marker};
use super::text::{coordinate, cut, width};
use super::{COLOURS, Figure, Layer};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A stroke of the legend.
const SAMPLE: f64 = 24.0;

/// The series of a figure by name, in the order in which layers name them.
pub(super) struct AllSeries<'a> {
    names: Vec<&'a str>,
}

impl<'a> AllSeries<'a> {
    pub(super) fn of(figure: &'a Figure) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for name in figure.layers.iter().flat_map(Layer::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Self { names }
    }

    /// Whether there is nothing to draw of any series.
    pub(super) fn all_empty(&self, figure: &Figure) -> bool {
        figure.layers.iter().all(|layer| {
            let mut names = layer.names().into_iter();
            names.all(|name| layers::is_empty(layer, name))
        })
    }

    /// The number of the colour of a series.
    pub(super) fn class(&self, name: &str) -> usize {
        let place = self.names.iter().position(|known| *known == name);
        place.unwrap_or(0) % COLOURS
    }
}

/// The legend as drawn, and where it ends.
///
/// `aside` are the layers whose labels have no place in the plot.
pub(super) fn legend(
    figure: &Figure,
    series: &AllSeries,
    aside: &BTreeSet<usize>,
    wide: f64,
    top: f64,
) -> (String, f64) {
    let mut out = String::new();
    let mut x = MARGIN;
    let mut y = top + TEXT_SIZE;
    let mut place = |words: &str| {
        let words = cut(words, TEXT_SIZE, wide - 2.0 * MARGIN - SAMPLE - 6.0);
        let takes = SAMPLE + 6.0 + width(&words, TEXT_SIZE);
        if x > MARGIN && x + takes > wide - MARGIN {
            x = MARGIN;
            y += TEXT_SIZE * LINE_HEIGHT;
        }
        let at = (x, y);
        x += takes + 18.0;
        (at, words)
    };
    let mut some = false;
    for name in series.names.iter().filter(|name| !name.is_empty()) {
        some = true;
        let drawn: Vec<&Layer> = figure
            .layers
            .iter()
            .filter(|layer| layer.names().contains(name))
            .collect();
        let empty = drawn.iter().all(|layer| layers::is_empty(layer, name));
        let words = if empty {
            format!("{name} (no data)")
        } else {
            (*name).to_owned()
        };
        let (at, words) = place(&words);
        for layer in drawn {
            sample(&mut out, layer, series.class(name), at);
        }
        text(
            &mut out,
            ("n", TEXT_SIZE, "start"),
            (at.0 + SAMPLE + 6.0, at.1),
            &words,
        );
    }
    if figure
        .layers
        .iter()
        .any(|layer| layers::has_missing(figure, layer))
    {
        some = true;
        let (at, words) = place("no data");
        let _ = writeln!(
            out,
            "<path class=\"c m\" d=\"M{} {}h10\"/>",
            coordinate(at.0 + SAMPLE / 2.0 - 5.0),
            coordinate(at.1 - TEXT_SIZE * 0.35)
        );
        text(
            &mut out,
            ("n", TEXT_SIZE, "start"),
            (at.0 + SAMPLE + 6.0, at.1),
            &words,
        );
    }
    for (nth, layer) in figure.layers.iter().enumerate() {
        if let Some(words) = sign(figure, layer).filter(|_| aside.contains(&nth)) {
            some = true;
            let (at, words) = place(&words);
            sample(&mut out, layer, 0, at);
            text(
                &mut out,
                ("n", TEXT_SIZE, "start"),
                (at.0 + SAMPLE + 6.0, at.1),
                &words,
            );
        }
    }
    let end = if some { y } else { top - 6.0 };
    (out, end)
}

/// What a line or a point with a name of its own is, and where.
fn sign(figure: &Figure, layer: &Layer) -> Option<String> {
    let (x, y) = (figure.x.quantity, figure.y.quantity);
    match layer {
        Layer::Event { label, .. } | Layer::Rule { label, .. } | Layer::Mark { label, .. }
            if label.trim().is_empty() =>
        {
            None
        }
        Layer::Event { at, label } => Some(format!("{label} ({})", x.exact(*at))),
        Layer::Rule { at, label } => Some(format!("{label} ({})", y.exact(*at))),
        Layer::Mark { at, label } => {
            Some(format!("{label} ({}, {})", x.exact(at.0), y.exact(at.1)))
        }
        _ => None,
    }
}

/// What a series looks like, beside its name.
fn sample(out: &mut String, layer: &Layer, class: usize, (x, y): (f64, f64)) {
    let middle = y - TEXT_SIZE * 0.35;
    match layer {
        Layer::Line { .. } | Layer::Step { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"l s{class}\" d=\"M{} {}h{SAMPLE}\"/>",
                coordinate(x),
                coordinate(middle)
            );
        }
        Layer::Band { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"a s{class}\" d=\"M{} {}h{SAMPLE}v12h-{SAMPLE}z\"/>",
                coordinate(x),
                coordinate(middle - 6.0)
            );
        }
        Layer::Stack { .. } => {
            layers::area::sample(out, class, (x, middle - 6.0), (x + SAMPLE, middle + 6.0));
        }
        Layer::Bars { .. } => {
            layers::bars::body(
                out,
                class,
                (x, middle - 6.0),
                (x + SAMPLE, middle + 6.0),
                "",
            );
        }
        Layer::Boxes { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"a s{class}\" d=\"M{0} {1}h{SAMPLE}v10h-{SAMPLE}z\"/>\
                 <path class=\"c s{class}\" d=\"M{0} {1}h{SAMPLE}v10h-{SAMPLE}zm{2} 0v10\"/>",
                coordinate(x),
                coordinate(middle - 5.0),
                SAMPLE / 2.0
            );
        }
        Layer::Points { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"p s{class}\" d=\"{}\"/>",
                marker(class, x + SAMPLE / 2.0, middle)
            );
        }
        Layer::Intervals { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"c s{class}\" d=\"M{} {}v14m-3 0h6m-6 -14h6\"/><path class=\"p s{class}\" d=\"{}\"/>",
                coordinate(x + SAMPLE / 2.0),
                coordinate(middle - 7.0),
                marker(class, x + SAMPLE / 2.0, middle)
            );
        }
        Layer::Event { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"v\" d=\"M{} {}v14\"/>",
                coordinate(x + SAMPLE / 2.0),
                coordinate(middle - 7.0)
            );
        }
        Layer::Rule { .. } => {
            let _ = writeln!(
                out,
                "<path class=\"v\" d=\"M{} {}h{SAMPLE}\"/>",
                coordinate(x),
                coordinate(middle)
            );
        }
        Layer::Mark { .. } => {
            let _ = writeln!(
                out,
                "<circle class=\"d\" r=\"3.5\" cx=\"{}\" cy=\"{}\"/>",
                coordinate(x + SAMPLE / 2.0),
                coordinate(middle)
            );
        }
    }
}
