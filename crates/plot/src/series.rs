//! The series of a figure, by name.

use crate::figure::Figure;
use crate::layer::Layer;
use crate::style::COLOURS;

/// The names of the series of a figure, in the order in which layers name them.
pub(crate) struct SeriesSet<'a> {
    pub(crate) names: Vec<&'a str>,
}

impl<'a> SeriesSet<'a> {
    pub(crate) fn new(figure: &'a Figure) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for name in figure.layers.iter().flat_map(Layer::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Self { names }
    }

    /// `true` when no series has data.
    pub(crate) fn are_all_empty(&self, figure: &Figure) -> bool {
        figure.layers.iter().all(|layer| {
            let mut names = layer.names().into_iter();
            names.all(|name| layer.is_empty(name))
        })
    }

    /// The index of the colour of a series.
    pub(crate) fn class(&self, name: &str) -> usize {
        let index = self.names.iter().position(|known| *known == name);
        index.unwrap_or(0) % COLOURS
    }
}
