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
    let mut entries = Entries::new(figure_width, top);
    for name in series.names.iter().filter(|name| !name.is_empty()) {
        add_series(&mut entries, figure, name, series.class(name));
    }
    let mut layers = figure.layers.iter();
    if layers.any(|layer| layer.has_missing(&figure.x, &figure.y)) {
        entries.add("no data", missing_sample);
    }
    for (index, layer) in figure.layers.iter().enumerate() {
        if let Some(text) = annotation_text(figure, layer).filter(|_| in_legend.contains(&index)) {
            entries.add(&text, |out, at| sample(out, layer, 0, at));
        }
    }
    let end = if entries.svg.is_empty() {
        top - 6.0
    } else {
        entries.y
    };
    (entries.svg, end)
}

/// The entries drawn so far, and the place of the next.
struct Entries {
    svg: String,
    figure_width: f64,
    x: f64,
    y: f64,
}

impl Entries {
    fn new(figure_width: f64, top: f64) -> Self {
        Self {
            svg: String::new(),
            figure_width,
            x: MARGIN,
            y: top + TEXT_SIZE,
        }
    }

    /// Adds an entry to the row, or to a new row where it does not fit. `sample` draws in front of the text.
    fn add(&mut self, text: &str, sample: impl FnOnce(&mut String, (f64, f64))) {
        let available = self.figure_width - 2.0 * MARGIN - SAMPLE - 6.0;
        let text = cut(text, TEXT_SIZE, available);
        let entry_width = SAMPLE + 6.0 + width(&text, TEXT_SIZE);
        if self.x > MARGIN && self.x + entry_width > self.figure_width - MARGIN {
            self.x = MARGIN;
            self.y += TEXT_SIZE * LINE_HEIGHT;
        }
        sample(&mut self.svg, (self.x, self.y));
        text_element(
            &mut self.svg,
            ("n", TEXT_SIZE, "start"),
            (self.x + SAMPLE + 6.0, self.y),
            &text,
        );
        self.x += entry_width + 18.0;
    }
}

/// Adds a series with the samples of all layers that draw it.
fn add_series(entries: &mut Entries, figure: &Figure, name: &str, class: usize) {
    let layers: Vec<&Layer> = figure
        .layers
        .iter()
        .filter(|layer| layer.names().contains(&name))
        .collect();
    let text = if layers.iter().all(|layer| layer.is_empty(name)) {
        format!("{name} (no data)")
    } else {
        name.to_owned()
    };
    entries.add(&text, |out, at| {
        for layer in layers {
            sample(out, layer, class, at);
        }
    });
}

/// Draws a sample of the mark of missing values.
fn missing_sample(out: &mut String, (x, y): (f64, f64)) {
    let _ = writeln!(
        out,
        "<path class=\"c m\" d=\"M{} {}h10\"/>",
        coordinate(x + SAMPLE / 2.0 - 5.0),
        coordinate(y - TEXT_SIZE * 0.35)
    );
}

/// The text of an annotation with its values; `None` for other layers.
fn annotation_text(figure: &Figure, layer: &Layer) -> Option<String> {
    let (x, y) = (figure.x.quantity, figure.y.quantity);
    match layer {
        Layer::Event { label, .. }
        | Layer::Span { label, .. }
        | Layer::Rule { label, .. }
        | Layer::Mark { label, .. }
            if label.trim().is_empty() =>
        {
            None
        }
        Layer::Event { at, label } => Some(format!("{label} ({})", x.exact(*at))),
        Layer::Span { from, to, label } => {
            Some(format!("{label} ({} to {})", x.exact(*from), x.exact(*to)))
        }
        Layer::Rule { at, label } => Some(format!("{label} ({})", y.exact(*at))),
        Layer::Mark { at, label } => {
            Some(format!("{label} ({}, {})", x.exact(at.0), y.exact(at.1)))
        }
        _ => None,
    }
}

/// Draws a sample of a layer in front of its name.
fn sample(out: &mut String, layer: &Layer, class: usize, (x, y): (f64, f64)) {
    let center_x = x + SAMPLE / 2.0;
    let center_y = y - TEXT_SIZE * 0.35;
    let move_to = |x: f64, y: f64| format!("M{} {}", coordinate(x), coordinate(y));
    let top_left = (x, center_y - 6.0);
    let bottom_right = (x + SAMPLE, center_y + 6.0);
    let mut path = |style: &str, d: &str| {
        let _ = write!(out, "<path class=\"{style}\" d=\"{d}\"/>");
    };
    match layer {
        Layer::Line { .. } | Layer::Step { .. } => {
            path(
                &format!("l s{class}"),
                &format!("{}h{SAMPLE}", move_to(x, center_y)),
            );
        }
        Layer::Band { .. } => {
            let start = move_to(x, center_y - 6.0);
            path(
                &format!("a s{class}"),
                &format!("{start}h{SAMPLE}v12h-{SAMPLE}z"),
            );
        }
        Layer::Stack { .. } => return layers::area::sample(out, class, top_left, bottom_right),
        Layer::Bars { .. } => return layers::bars::body(out, class, top_left, bottom_right, ""),
        Layer::Boxes { .. } => {
            let outline = format!("{}h{SAMPLE}v10h-{SAMPLE}z", move_to(x, center_y - 5.0));
            path(&format!("a s{class}"), &outline);
            path(
                &format!("c s{class}"),
                &format!("{outline}m{} 0v10", SAMPLE / 2.0),
            );
        }
        Layer::Points { .. } => path(&format!("p s{class}"), &marker(class, center_x, center_y)),
        Layer::Intervals { .. } => {
            let start = move_to(center_x, center_y - 7.0);
            path(
                &format!("c s{class}"),
                &format!("{start}v14m-3 0h6m-6 -14h6"),
            );
            path(&format!("p s{class}"), &marker(class, center_x, center_y));
        }
        Layer::Event { .. } => path("v", &format!("{}v14", move_to(center_x, center_y - 7.0))),
        Layer::Span { .. } => {
            let start = move_to(x, center_y - 7.0);
            path("e", &format!("{start}h{SAMPLE}v14h-{SAMPLE}z"));
        }
        Layer::Rule { .. } => path("v", &format!("{}h{SAMPLE}", move_to(x, center_y))),
        Layer::Mark { .. } => {
            let _ = write!(
                out,
                "<circle class=\"d\" r=\"3.5\" cx=\"{}\" cy=\"{}\"/>",
                coordinate(center_x),
                coordinate(center_y)
            );
        }
    }
    out.push('\n');
}
