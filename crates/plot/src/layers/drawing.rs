//! What a layer of each kind covers, and how it is drawn.

use super::marks::SideBySide;
use super::{annotations, area, bars, boxes, line, points};
use crate::canvas::Canvas;
use crate::extent::Extent;
use crate::figure::Figure;
use crate::layer::Layer;
use crate::plot_area::PlotArea;
use crate::series::SeriesSet;

/// The extent of all layers of a figure.
pub(crate) fn extent(figure: &Figure) -> Extent {
    let mut extent = Extent::default();
    for layer in &figure.layers {
        add(&mut extent, figure, layer);
    }
    extent
}

/// Adds the extent of a layer.
fn add(extent: &mut Extent, figure: &Figure, layer: &Layer) {
    match layer {
        Layer::Line { points, .. } | Layer::Step { points, .. } | Layer::Points { points, .. } => {
            for (x, y) in points {
                extent.include_point(figure, *x, &[*y]);
            }
        }
        Layer::Band { points, .. } => {
            for (x, low, high) in points {
                extent.include_point(figure, *x, &[*low, *high]);
            }
        }
        Layer::Stack { edges, parts } => area::extent(extent, figure, edges, parts),
        Layer::Boxes { boxes, .. } => boxes::extent(extent, figure, boxes),
        Layer::Bars { bars, .. } => bars::extent(extent, figure, bars),
        Layer::Intervals { points, .. } => points::extent(extent, figure, points),
        Layer::Event { at, .. } => extent.include_point(figure, *at, &[]),
        Layer::Span { from, to, .. } => {
            for at in [from, to] {
                extent.include_point(figure, *at, &[]);
            }
        }
        Layer::Rule { at, .. } => extent.include_y(figure, *at),
        Layer::Mark { at, .. } => extent.include_point(figure, at.0, &[at.1]),
    }
}

/// Draws all layers, the first at the back.
pub(crate) fn draw(canvas: &mut Canvas, plot: &PlotArea, series: &SeriesSet) {
    let layers = &plot.figure.layers;
    for (layer_index, layer) in layers.iter().enumerate() {
        // Layers of a kind stand side by side.
        let like = |other: &&Layer| std::mem::discriminant(*other) == std::mem::discriminant(layer);
        let side_by_side = SideBySide {
            index: layers.iter().take(layer_index).filter(like).count(),
            count: layers.iter().filter(like).count(),
        };
        match layer {
            Layer::Line { name, points } => {
                line::line(canvas, plot, (series.class(name), name), points);
            }
            Layer::Step { name, points } => {
                line::step(canvas, plot, (series.class(name), name), points);
            }
            Layer::Band { name, points } => {
                area::band(canvas, plot, (series.class(name), name), points);
            }
            Layer::Stack { edges, parts } => area::stack(canvas, plot, series, edges, parts),
            Layer::Points { name, points } => {
                points::points(canvas, plot, (series.class(name), name), points);
            }
            Layer::Boxes { name, boxes } => {
                boxes::boxes(
                    canvas,
                    plot,
                    (series.class(name), name),
                    side_by_side,
                    boxes,
                );
            }
            Layer::Bars { name, bars } => {
                bars::bars(canvas, plot, (series.class(name), name), side_by_side, bars);
            }
            Layer::Intervals { name, points } => {
                points::intervals(
                    canvas,
                    plot,
                    (series.class(name), name),
                    side_by_side,
                    points,
                );
            }
            Layer::Event { at, label } => annotations::event(canvas, plot, layer_index, *at, label),
            Layer::Span { from, to, label } => {
                annotations::span(canvas, plot, layer_index, (*from, *to), label);
            }
            Layer::Rule { at, label } => annotations::rule(canvas, plot, layer_index, *at, label),
            Layer::Mark { at, label } => annotations::mark(canvas, plot, layer_index, *at, label),
        }
    }
}
