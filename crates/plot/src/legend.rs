//! The legend under the title.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::figure::Figure;
use crate::layer::Layer;
use crate::layers;
use crate::layers::marks::marker;
use crate::layout::{LINE_HEIGHT, MARGIN, TEXT_SIZE};
use crate::series::SeriesSet;
use crate::svg::{coordinate, text_element};
use crate::text::{cut, width};

/// The width of a sample in the legend.
const SAMPLE: f64 = 24.0;

/// The legend as SVG, with the y coordinate at which it ends.
///
/// `in_legend` are the layers whose labels do not fit into the plot.
pub(crate) fn legend(
    figure: &Figure,
    series: &SeriesSet,
    in_legend: &BTreeSet<usize>,
    figure_width: f64,
    top: f64,
) -> (String, f64) {
    let mut out = String::new();
    let mut x = MARGIN;
    let mut y = top + TEXT_SIZE;
    let mut next_entry = |text: &str| {
        let text = cut(text, TEXT_SIZE, figure_width - 2.0 * MARGIN - SAMPLE - 6.0);
        let entry_width = SAMPLE + 6.0 + width(&text, TEXT_SIZE);
        if x > MARGIN && x + entry_width > figure_width - MARGIN {
            x = MARGIN;
            y += TEXT_SIZE * LINE_HEIGHT;
        }
        let at = (x, y);
        x += entry_width + 18.0;
        (at, text)
    };
    let mut has_entries = false;
    for name in series.names.iter().filter(|name| !name.is_empty()) {
        has_entries = true;
        let layers_of_series: Vec<&Layer> = figure
            .layers
            .iter()
            .filter(|layer| layer.names().contains(name))
            .collect();
        let empty = layers_of_series.iter().all(|layer| layer.is_empty(name));
        let text = if empty {
            format!("{name} (no data)")
        } else {
            (*name).to_owned()
        };
        let (at, text) = next_entry(&text);
        for layer in layers_of_series {
            sample(&mut out, layer, series.class(name), at);
        }
        text_element(
            &mut out,
            ("n", TEXT_SIZE, "start"),
            (at.0 + SAMPLE + 6.0, at.1),
            &text,
        );
    }
    if figure
        .layers
        .iter()
        .any(|layer| layer.has_missing(&figure.x, &figure.y))
    {
        has_entries = true;
        let (at, text) = next_entry("no data");
        let _ = writeln!(
            out,
            "<path class=\"c m\" d=\"M{} {}h10\"/>",
            coordinate(at.0 + SAMPLE / 2.0 - 5.0),
            coordinate(at.1 - TEXT_SIZE * 0.35)
        );
        text_element(
            &mut out,
            ("n", TEXT_SIZE, "start"),
            (at.0 + SAMPLE + 6.0, at.1),
            &text,
        );
    }
    for (index, layer) in figure.layers.iter().enumerate() {
        if let Some(text) = annotation_text(figure, layer).filter(|_| in_legend.contains(&index)) {
            has_entries = true;
            let (at, text) = next_entry(&text);
            sample(&mut out, layer, 0, at);
            text_element(
                &mut out,
                ("n", TEXT_SIZE, "start"),
                (at.0 + SAMPLE + 6.0, at.1),
                &text,
            );
        }
    }
    let end = if has_entries { y } else { top - 6.0 };
    (out, end)
}

/// The text of an annotation with its values; `None` for other layers.
fn annotation_text(figure: &Figure, layer: &Layer) -> Option<String> {
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

/// Draws a sample of a layer beside its name.
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
