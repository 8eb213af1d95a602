//! Figures that compare cases: boxes, bars, and a metric over a parameter.

mod bars;

pub use bars::{groups, sweeps};
