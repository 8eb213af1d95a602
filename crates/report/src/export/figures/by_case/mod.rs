//! Figures that compare cases: boxes, bars, and a metric over a parameter.

mod bars;
mod boxes;
mod case_axes;
mod case_group;
mod metrics;
mod sweep;

pub use case_group::case_groups;
pub use sweep::sweep_groups;
