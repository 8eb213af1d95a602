//! Figures of a page, numbered in their order.

use crate::export::page::{Block, CaptionedFigure, FigureGroup};

/// The figures that there are, each a block of its own whose name begins with its number.
pub fn numbered(figures: Vec<Option<CaptionedFigure>>) -> Vec<Block> {
    let drawn = (1..).zip(figures.into_iter().flatten());
    let block = |(nth, mut figure): (usize, CaptionedFigure)| {
        figure.name = format!("{nth:02}-{}", figure.name);
        Block::Figures(FigureGroup {
            title: String::new(),
            figures: vec![figure],
            notes: Vec::new(),
        })
    };
    drawn.map(block).collect()
}
