//! Experiments as values: what somebody wrote, and the campaign of trials it unfolds into.
//!
//! An [`ExperimentFile`] is what was written; [`Campaign::unfold`] leaves nothing open that needs no network, and refuses what
//! makes no sense with the key that is wrong.
#![forbid(unsafe_code)]

mod campaign;
pub mod expression;
mod file;
mod metric;
mod nearest;
mod scalar;
mod unfold;

pub use campaign::{Campaign, Case, FlowSpec, MOST_CASES, RateSpec, Repeated, Turn};
pub use expression::{Expression, ExpressionError, Template};
pub use file::*;
pub use metric::{METRICS, Metric, On};
pub use nearest::nearest;
pub use scalar::{Scalar, Text, number};
pub use unfold::{ExperimentError, MESSAGES, fill};

/// The JSON Schema of experiment files.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ExperimentFile)
}
