//! Sweeps: a metric over a parameter.

mod caption;
mod group;
mod layers;
mod parameter;
mod parameter_axis;
mod series;

pub use group::sweep_groups;
