//! Figures of round trips: their distribution, by size, the first of each connection, and over time.

mod by_size;

pub use by_size::{
    band, box_figure, cdf, cdf_figure, first, first_figure, sizes, sizes_figure,
};
