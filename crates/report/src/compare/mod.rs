//! The comparison of runs and studies, the size of a difference first.

mod compare_sides;
mod comparison;
mod conditions;
mod figure;
mod format;
mod side;
mod text;
mod verdict;

pub use compare_sides::{CompareError, CompareOptions, compare_sides};
pub use comparison::{
    COMPARISON_SCHEMA, ComparedMetric, Comparison, SideDescription, UnmatchedMetrics,
};
pub use conditions::{ConditionDifference, Conditions};
pub use figure::difference_figure;
pub use side::{LeftOutReason, MetricKey, Side, SideError};
pub use text::comparison_lines;
