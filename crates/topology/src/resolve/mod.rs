//! From a topology file to a topology: defaults are filled in, what cannot be built is refused.

mod half_duplex;
mod impairments;
mod interfaces;
mod jitter;
mod limits;
mod links;
mod nodes;
mod queue;
mod resolution;
mod segments;
