//! Values and arithmetic: units, plans, samples, statistics, predictions. Pure.
#![forbid(unsafe_code)]

pub mod contention;
mod cut;
pub mod delay;
pub mod echo;
pub mod experiment;
pub mod framing;
pub mod host;
pub mod interval;
pub mod plan;
pub mod predict;
pub mod sample;
pub mod search;
pub mod sequence;
pub mod stats;
pub mod summary;
mod ticks;
pub mod topology;
pub mod units;
pub mod verdict;
pub mod warning;
