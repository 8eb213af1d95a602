//! Experiments: the files they are written in, the campaigns of cases they unfold into, and the trials and findings of a study.
//!
//! [`Campaign::unfold`] fills in and checks everything in an [`ExperimentFile`] that needs no network, and reports an error with
//! its location in the file.
#![forbid(unsafe_code)]

mod campaign;
mod case;
pub mod expression;
mod file;
pub mod findings;
mod metric;
mod scalar;
mod suggestion;
mod trial;
mod unfold;

pub use campaign::{Campaign, MAX_CASES, RepetitionStatus, Variant};
pub use case::{Case, FlowSpec, PathProbing, PathScope, RateSpec};
pub use expression::{Expression, ExpressionError, Template};
pub use file::*;
pub use findings::{CasePredictions, Findings, StudyHeader};
pub use metric::{METRICS, Metric, MetricSubject, path_link_name};
pub use scalar::{Scalar, Text, parse_number};
pub use suggestion::nearest_name;
pub use trial::{InterfaceSeries, TRIAL_SCHEMA, Trial, TrialFlow};
pub use unfold::{DEFAULT_MESSAGES, ExperimentError, fill_parameters};

/// The JSON Schema of experiment files.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ExperimentFile)
}
