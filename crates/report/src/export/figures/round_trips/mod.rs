//! Figures of round trips: their distribution, by size, the first of each connection, and over time.

mod band;
mod box_figure;
mod by_size;
mod distribution;
mod first;
mod start_times;
mod time_axis;

pub use band::{band_figure, run_over_time_figure};
pub use box_figure::box_figure;
pub use by_size::{by_size_group, sizes_figure};
pub use distribution::{cdf_figure, distribution_group};
pub use first::{first_figure, first_group};
