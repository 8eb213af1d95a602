//! Values and arithmetic: units, plans, samples, statistics, predictions. Pure.
#![forbid(unsafe_code)]

mod cut;
pub mod delay;
pub mod echo;
pub mod framing;
pub mod host;
pub mod interval;
pub mod link;
pub mod plan;
pub mod prediction;
pub mod quantity;
pub mod sample;
pub mod search;
pub mod sequence;
pub mod summary;
mod ticks;
pub mod units;
pub mod verdict;
pub mod warning;
