//! The comparison of runs and studies, the size of a difference first.

mod compare_sides;
mod comparison;
mod condition_weight;
mod conditions;
mod direction;
mod figure;
mod format;
mod junit;
mod markdown;
mod page;
mod regression;
mod regression_check;
pub(crate) mod run_metrics;
mod selection;
mod side;
mod side_file;
mod text;
mod verdict;
mod within_run;

pub use compare_sides::{CompareError, CompareOptions, compare_sides};
pub use comparison::{
    COMPARISON_SCHEMA, ComparedMetric, Comparison, SideDescription, UnmatchedMetrics,
};
pub use conditions::{ConditionDifference, Conditions};
pub use figure::difference_figure;
pub use junit::comparison_as_junit;
pub use markdown::comparison_as_markdown;
pub use page::comparison_as_html;
pub use regression::{MetricRegression, Regression, RegressionEvidence, RegressionOutcome};
pub use selection::{SidePart, side_parts};
pub use side::{LeftOutReason, MetricKey, Side, SideError};
pub use side_file::{SideFileError, runs_of_file};
pub use text::comparison_lines;
pub use within_run::{WithinRunDifference, WithinRunEstimate};
