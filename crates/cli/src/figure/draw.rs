//! The drawing: title, legend, axes, layers.

use super::axis::Ranged;
use super::text::{coordinate, cut, escaped, width, wrap};
use super::{COLOURS, Figure, Layer};
use std::fmt::Write as _;

const TITLE_SIZE: f64 = 16.0;
const TEXT_SIZE: f64 = 12.0;
const LINE_HEIGHT: f64 = 1.35;
/// How much wider bold letters are than those of the width table.
const BOLD: f64 = 1.17;
const MARGIN: f64 = 16.0;
/// Between the plot and its tick labels.
const TICK_GAP: f64 = 8.0;
/// A stroke of the legend.
const SAMPLE: f64 = 24.0;

/// Colours that can be told apart by most eyes, after Okabe and Ito, darker on light and lighter on dark ground.
const STYLE: &str = "\
svg.caudal{color:#1b1f24;font-family:system-ui,'DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}\
svg.caudal text{fill:currentColor}\
.caudal .b{fill:#fff}\
.caudal .t{font-weight:600}\
.caudal .m{opacity:.72}\
.caudal .g{stroke:currentColor;stroke-opacity:.14;stroke-width:1;fill:none}\
.caudal .f{stroke:currentColor;stroke-opacity:.55;stroke-width:1;fill:none}\
.caudal .l{stroke:currentColor;stroke-width:2;fill:none;stroke-linejoin:round;stroke-linecap:butt}\
.caudal .d{fill:currentColor}\
.caudal .s0{color:#0060a8}.caudal .s1{color:#c44e00}.caudal .s2{color:#00795a}.caudal .s3{color:#a8437f}\
.caudal .s4{color:#7a6a00}.caudal .s5{color:#2f86c9}.caudal .s6{color:#5b5f66}.caudal .s7{color:#7d3ac1}\
.caudal .s1.l{stroke-dasharray:8 4}.caudal .s2.l{stroke-dasharray:2 3}.caudal .s3.l{stroke-dasharray:10 3 2 3}\
.caudal .s4.l{stroke-dasharray:5 3}.caudal .s5.l{stroke-dasharray:12 4}.caudal .s6.l{stroke-dasharray:3 2}\
.caudal .s7.l{stroke-dasharray:8 3 2 3 2 3}";

/// The same for dark ground, with `@` for what selects it.
const DARK: &str = "\
@svg.caudal{color:#e6e8eb}@.caudal .b{fill:#15181c}\
@.caudal .s0{color:#6cb8f0}@.caudal .s1{color:#ff9a52}@.caudal .s2{color:#4fd1a5}@.caudal .s3{color:#f090c4}\
@.caudal .s4{color:#e8d34a}@.caudal .s5{color:#9ad0f5}@.caudal .s6{color:#b4b9c0}@.caudal .s7{color:#c39af5}";

fn style() -> String {
    let preferred = DARK.replace('@', ":root:not([data-theme=light]) ");
    // In a file of its own the figure is the root.
    let alone = DARK
        .replace("@svg.caudal", "svg.caudal:root")
        .replace("@.caudal", "svg.caudal:root");
    let chosen = DARK.replace('@', "[data-theme=dark] ");
    format!(
        "{STYLE}@media screen and (prefers-color-scheme:dark){{{preferred}{alone}}}@media screen{{{chosen}}}"
    )
}

/// Where things are, in pixels.
struct Layout {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Layout {
    fn x(&self, part: f64) -> f64 {
        self.left + part * (self.right - self.left)
    }

    fn y(&self, part: f64) -> f64 {
        self.bottom - part * (self.bottom - self.top)
    }
}

pub(super) fn svg(figure: &Figure) -> String {
    let (wide, high) = (
        f64::from(figure.size.0.max(240)),
        f64::from(figure.size.1.max(160)),
    );
    let points = || {
        figure.layers.iter().flat_map(|layer| match layer {
            Layer::Line { points, .. } => points.iter().copied(),
        })
    };
    let seen = |(x, y): &(f64, f64)| figure.x.shows(*x) && figure.y.shows(*y);
    let hidden = points()
        .filter(|(x, y)| !x.is_nan() && !y.is_nan())
        .filter(|point| !seen(point))
        .count();
    let y_axis = figure
        .y
        .ranged(points().filter(seen).map(|point| point.1), 6, true);
    let label_width = y_axis
        .ticks
        .iter()
        .map(|tick| width(&tick.label, TEXT_SIZE))
        .fold(0.0, f64::max);
    let left = MARGIN + TEXT_SIZE * LINE_HEIGHT + 4.0 + label_width + TICK_GAP;
    let most = (((wide - left) / 90.0) as usize).max(2);
    let x_axis = figure
        .x
        .ranged(points().filter(seen).map(|point| point.0), most, false);
    // The last label may reach beyond the plot.
    let overhang = x_axis
        .ticks
        .iter()
        .map(|tick| {
            width(&tick.label, TEXT_SIZE) / 2.0
                - (1.0 - x_axis.position(tick.value)) * (wide - left - MARGIN)
        })
        .fold(0.0, f64::max);
    let right = wide - MARGIN - overhang;
    let mut out = begin(figure, wide, high);
    let mut y = MARGIN;
    for line in wrap(&figure.title, TITLE_SIZE, (wide - 2.0 * MARGIN) / BOLD) {
        y += TITLE_SIZE;
        text(&mut out, ("t", TITLE_SIZE, "start"), (MARGIN, y), &line);
        y += TITLE_SIZE * (LINE_HEIGHT - 1.0);
    }
    let y = legend(figure, &mut out, wide, y + 6.0);
    let note = if hidden > 0 {
        TEXT_SIZE * LINE_HEIGHT
    } else {
        0.0
    };
    let layout = Layout {
        left,
        right,
        top: y + 18.0,
        bottom: (high - MARGIN - 2.0 * TEXT_SIZE * LINE_HEIGHT - note).max(y + 40.0),
    };
    axes(figure, &mut out, &layout, &x_axis, &y_axis);
    if hidden > 0 {
        let words = format!(
            "{hidden} value{} not shown: the scale has no place for them",
            if hidden == 1 { "" } else { "s" }
        );
        text(
            &mut out,
            ("m", TEXT_SIZE, "start"),
            (left, high - MARGIN + 4.0),
            &words,
        );
    }
    plot(figure, &mut out, &layout, &x_axis, &y_axis);
    out.push_str("</svg>\n");
    out
}

fn begin(figure: &Figure, wide: f64, high: f64) -> String {
    let (w, h) = (coordinate(wide), coordinate(high));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"caudal\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         role=\"img\" aria-label=\"{}\"><title>{}</title><desc>{}</desc><style>{}</style>\n<rect class=\"b\" width=\"{w}\" height=\"{h}\"/>\n",
        escaped(&figure.title),
        escaped(&figure.title),
        escaped(&figure.description),
        style()
    )
}

/// A text of a class and size, anchored.
fn text(
    out: &mut String,
    (class, size, anchor): (&str, f64, &str),
    (x, y): (f64, f64),
    words: &str,
) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" font-size=\"{size}\" text-anchor=\"{anchor}\" x=\"{}\" y=\"{}\">{}</text>",
        coordinate(x),
        coordinate(y),
        escaped(words)
    );
}

/// The names of the series in rows; where the rows end.
fn legend(figure: &Figure, out: &mut String, wide: f64, top: f64) -> f64 {
    let mut x = MARGIN;
    let mut y = top + TEXT_SIZE;
    for (nth, layer) in figure.layers.iter().enumerate() {
        let Layer::Line { name, .. } = layer;
        let name = cut(name, TEXT_SIZE, wide - 2.0 * MARGIN - SAMPLE - 6.0);
        let takes = SAMPLE + 6.0 + width(&name, TEXT_SIZE);
        if x > MARGIN && x + takes > wide - MARGIN {
            x = MARGIN;
            y += TEXT_SIZE * LINE_HEIGHT;
        }
        let _ = writeln!(
            out,
            "<path class=\"l s{}\" d=\"M{} {}h{SAMPLE}\"/>",
            nth % COLOURS,
            coordinate(x),
            coordinate(y - TEXT_SIZE * 0.35)
        );
        text(out, ("k", TEXT_SIZE, "start"), (x + SAMPLE + 6.0, y), &name);
        x += takes + 18.0;
    }
    y
}

fn axes(figure: &Figure, out: &mut String, layout: &Layout, x_axis: &Ranged, y_axis: &Ranged) {
    let mut grid = String::new();
    let mut frame = format!(
        "M{} {}V{}H{}",
        coordinate(layout.left),
        coordinate(layout.top),
        coordinate(layout.bottom),
        coordinate(layout.right)
    );
    let mut free_from = f64::NEG_INFINITY;
    for tick in &x_axis.ticks {
        let x = layout.x(x_axis.position(tick.value));
        let half = width(&tick.label, TEXT_SIZE) / 2.0;
        // A label that would touch the one before gives way.
        let named = !tick.label.is_empty() && x - half >= free_from;
        let length = if named { 5.0 } else { 3.0 };
        let _ = write!(
            frame,
            "M{} {}v{length}",
            coordinate(x),
            coordinate(layout.bottom)
        );
        if named {
            free_from = x + half + 10.0;
            let _ = write!(
                grid,
                "M{} {}V{}",
                coordinate(x),
                coordinate(layout.top),
                coordinate(layout.bottom)
            );
            text(
                out,
                ("n", TEXT_SIZE, "middle"),
                (x, layout.bottom + TICK_GAP + TEXT_SIZE),
                &tick.label,
            );
        }
    }
    let mut free_to = f64::INFINITY;
    for tick in &y_axis.ticks {
        let y = layout.y(y_axis.position(tick.value));
        let named = !tick.label.is_empty() && y <= free_to;
        let length = if named { 5.0 } else { 3.0 };
        let _ = write!(
            frame,
            "M{} {}h-{length}",
            coordinate(layout.left),
            coordinate(y)
        );
        if named {
            free_to = y - TEXT_SIZE * LINE_HEIGHT;
            let _ = write!(
                grid,
                "M{} {}H{}",
                coordinate(layout.left),
                coordinate(y),
                coordinate(layout.right)
            );
            text(
                out,
                ("n", TEXT_SIZE, "end"),
                (layout.left - TICK_GAP, y + TEXT_SIZE * 0.35),
                &tick.label,
            );
        }
    }
    let _ = writeln!(
        out,
        "<path class=\"g\" d=\"{grid}\"/>\n<path class=\"f\" d=\"{frame}\"/>"
    );
    let middle = f64::midpoint(layout.left, layout.right);
    let below = layout.bottom + TICK_GAP + TEXT_SIZE * (1.0 + LINE_HEIGHT);
    let name = cut(&figure.x.label, TEXT_SIZE, layout.right - layout.left);
    text(out, ("m", TEXT_SIZE, "middle"), (middle, below), &name);
    let name = cut(&figure.y.label, TEXT_SIZE, layout.bottom - layout.top);
    let _ = writeln!(
        out,
        "<text class=\"m\" font-size=\"{TEXT_SIZE}\" text-anchor=\"middle\" transform=\"translate({} {}) rotate(-90)\">{}</text>",
        coordinate(MARGIN + TEXT_SIZE * 0.6),
        coordinate(f64::midpoint(layout.top, layout.bottom)),
        escaped(&name)
    );
}

/// The layers, in an `svg` of their own that cuts off what leaves the plot.
fn plot(figure: &Figure, out: &mut String, layout: &Layout, x_axis: &Ranged, y_axis: &Ranged) {
    // A stroke on the very edge keeps its whole width.
    let edge = 2.0;
    let (x, y) = (layout.left - edge, layout.top - edge);
    let (wide, high) = (
        layout.right - layout.left + 2.0 * edge,
        layout.bottom - layout.top + 2.0 * edge,
    );
    let _ = writeln!(
        out,
        "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">",
        coordinate(x),
        coordinate(y),
        coordinate(wide),
        coordinate(high)
    );
    for (nth, layer) in figure.layers.iter().enumerate() {
        let Layer::Line { name, points } = layer;
        let placed = points.iter().map(|(x, y)| {
            (figure.x.shows(*x) && figure.y.shows(*y))
                .then(|| (layout.x(x_axis.position(*x)), layout.y(y_axis.position(*y))))
        });
        line(out, nth % COLOURS, name, placed);
    }
    out.push_str("</svg>\n");
}

/// A line with gaps where a point is missing; a point between two gaps becomes a dot.
fn line(
    out: &mut String,
    class: usize,
    name: &str,
    points: impl Iterator<Item = Option<(f64, f64)>>,
) {
    let mut runs: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for point in points {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    let mut path = String::new();
    for run in &runs {
        if let [(x, y)] = run.as_slice() {
            let _ = writeln!(
                out,
                "<circle class=\"d s{class}\" r=\"2.5\" cx=\"{}\" cy=\"{}\"/>",
                coordinate(*x),
                coordinate(*y)
            );
            continue;
        }
        let mut before = String::new();
        for (nth, (x, y)) in thinned(run).into_iter().enumerate() {
            let here = format!("{} {}", coordinate(x), coordinate(y));
            if here != before {
                path.push(if nth == 0 { 'M' } else { 'L' });
                path.push_str(&here);
                before = here;
            }
        }
    }
    if !path.is_empty() {
        let _ = writeln!(
            out,
            "<path class=\"l s{class}\" d=\"{path}\"><title>{}</title></path>",
            escaped(name)
        );
    }
}

/// Of many points in one column of pixels the first, the least, the greatest and the last.
fn thinned(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if run.len() < 2000 {
        return run.to_vec();
    }
    let mut kept = Vec::new();
    for column in run.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let mut picked: Vec<usize> = vec![0, column.len() - 1];
        let by = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
        picked.extend((0..column.len()).min_by(by));
        picked.extend((0..column.len()).max_by(by));
        picked.sort_unstable();
        picked.dedup();
        kept.extend(picked.into_iter().map(|at| column[at]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Quantity, Scale};
    use super::*;

    fn figure(layers: Vec<Layer>) -> Figure {
        let axis = |label: &str, quantity, scale| Axis {
            label: label.to_owned(),
            quantity,
            scale,
            from_zero: false,
        };
        Figure {
            title: "TCP goodput by loss".to_owned(),
            description: "Predictions".to_owned(),
            x: axis("loss", Quantity::Percent, Scale::Log),
            y: axis("goodput", Quantity::Rate, Scale::Log),
            layers,
            size: Figure::SIZE,
        }
    }

    fn series(name: &str, points: &[(f64, f64)]) -> Layer {
        Layer::Line {
            name: name.to_owned(),
            points: points.to_vec(),
        }
    }

    /// Tags in their order, held against a stack: every element is closed where it should be.
    fn is_well_formed(xml: &str) -> bool {
        let mut open: Vec<&str> = Vec::new();
        let mut rest = xml;
        while let Some(at) = rest.find('<') {
            let Some(end) = rest[at..].find('>') else {
                return false;
            };
            let tag = &rest[at + 1..at + end];
            rest = &rest[at + end + 1..];
            let name = tag
                .trim_start_matches('/')
                .split([' ', '/'])
                .next()
                .unwrap_or("");
            if tag.starts_with('/') {
                if open.pop() != Some(name) {
                    return false;
                }
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        open.is_empty()
    }

    /// The horizontal text boxes as left, top, right, bottom.
    fn boxes(svg: &str) -> Vec<(f64, f64, f64, f64)> {
        let attribute = |tag: &str, name: &str| {
            let from = tag.split(&format!(" {name}=\"")).nth(1)?;
            from.split('"').next().map(str::to_owned)
        };
        svg.lines()
            .filter(|line| line.starts_with("<text") && !line.contains("rotate"))
            .map(|line| {
                let (tag, rest) = line.split_once('>').unwrap();
                let words = rest.split('<').next().unwrap();
                let number = |name: &str| attribute(tag, name).unwrap().parse::<f64>().unwrap();
                let (size, x, y) = (number("font-size"), number("x"), number("y"));
                let bold = if line.contains("class=\"t\"") {
                    BOLD
                } else {
                    1.0
                };
                let wide = width(words, size) * bold;
                let left = match attribute(tag, "text-anchor").unwrap().as_str() {
                    "start" => x,
                    "middle" => x - wide / 2.0,
                    _ => x - wide,
                };
                (left, y - size * 0.8, left + wide, y + size * 0.2)
            })
            .collect()
    }

    #[test]
    fn no_texts_overlap_or_leave_the_picture() {
        let decades: Vec<(f64, f64)> = (0..50)
            .map(|n| {
                (
                    1e-5 * 10_f64.powf(f64::from(n) / 12.0),
                    1e8 / f64::from(n + 1),
                )
            })
            .collect();
        let many: Vec<Layer> = (0..8)
            .map(|n| series(&format!("a series of some length, number {n}"), &decades))
            .collect();
        for size in [(800, 450), (1600, 900), (400, 300)] {
            let svg = Figure {
                size,
                ..figure(many.clone())
            }
            .svg();
            let boxes = boxes(&svg);
            assert!(boxes.len() > 12);
            for (nth, a) in boxes.iter().enumerate() {
                assert!(
                    a.0 >= 0.0
                        && a.1 >= 0.0
                        && a.2 <= f64::from(size.0)
                        && a.3 <= f64::from(size.1),
                    "{size:?} {a:?}"
                );
                for b in &boxes[nth + 1..] {
                    let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                    assert!(apart, "{size:?}: {a:?} and {b:?}");
                }
            }
        }
    }

    #[test]
    fn hostile_labels_and_values_leave_a_whole_file() {
        let nasty = "</svg><script>&\"\u{0}\u{1b}";
        let values = [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e308, 1e-308, 1.0];
        let points: Vec<(f64, f64)> = values
            .iter()
            .flat_map(|x| values.iter().map(move |y| (*x, *y)))
            .collect();
        for layers in [
            vec![],
            vec![series("", &[])],
            vec![series(nasty, &points)],
            vec![series("one", &[(1.0, 1.0)])],
        ] {
            for scale in [Scale::Linear, Scale::Log] {
                let mut figure = figure(layers.clone());
                figure.title = nasty.to_owned();
                (figure.x.scale, figure.y.scale) = (scale, scale);
                let svg = figure.svg();
                assert!(is_well_formed(&svg), "{svg}");
                let drawn = svg.split("</style>").nth(1).unwrap();
                assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{svg}");
                assert!(!svg.contains("<script"));
            }
        }
    }

    #[test]
    fn a_hole_breaks_the_line_and_a_lone_point_is_a_dot() {
        let svg = figure(vec![series(
            "gaps",
            &[
                (1.0, 1.0),
                (2.0, 2.0),
                (3.0, f64::NAN),
                (4.0, 4.0),
                (5.0, f64::NAN),
                (6.0, 6.0),
                (9.0, 9.0),
            ],
        )])
        .svg();
        let path = svg
            .lines()
            .find(|line| line.contains("<title>gaps"))
            .unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
        assert_eq!(svg.matches("<circle").count(), 1);
        let hidden = figure(vec![series("zero", &[(1.0, 0.0), (2.0, 2.0), (3.0, 4.0)])]).svg();
        assert!(hidden.contains("1 value not shown"), "{hidden}");
    }

    #[test]
    fn many_points_are_thinned_and_keep_their_extremes() {
        let points: Vec<(f64, f64)> = (1..40_000)
            .map(|n| {
                (
                    f64::from(n),
                    if n == 777 {
                        1e6
                    } else {
                        10.0 + f64::from(n % 7)
                    },
                )
            })
            .collect();
        let mut figure = figure(vec![series("noise", &points)]);
        (figure.x.scale, figure.y.scale) = (Scale::Linear, Scale::Linear);
        let svg = figure.svg();
        assert!(svg.len() < 60_000, "{}", svg.len());
        let path = svg
            .lines()
            .find(|line| line.contains("<title>noise"))
            .unwrap();
        let heights: Vec<f64> = path
            .split(['M', 'L'])
            .skip(1)
            .filter_map(|pair| pair.split([' ', '"']).nth(1)?.parse().ok())
            .collect();
        let (least, most) = (
            heights.iter().copied().fold(f64::MAX, f64::min),
            heights.iter().copied().fold(0.0, f64::max),
        );
        assert!(
            most - least > 250.0,
            "the spike is drawn: {least} to {most}"
        );
    }

    #[test]
    fn the_same_figure_is_the_same_file() {
        let of = || figure(vec![series("a", &[(1e-4, 1e6), (1e-2, 1e5)])]).svg();
        assert_eq!(of(), of());
        assert!(!of().contains(" id="));
        assert!(of().contains("role=\"img\"") && of().contains("viewBox"));
    }
}
