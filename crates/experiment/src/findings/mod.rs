//! Findings: the results of the trials of a study, as values.

mod assemble;
mod case_findings;
mod conclusion;
mod expectation;
mod figure;
mod findings;
mod format;
mod lookup;
mod published;
mod starvation;
mod table;
#[cfg(test)]
mod tests;
mod verdict;

pub use case_findings::{CaseFindings, CasePredictions, MetricFindings};
pub use conclusion::Conclusion;
pub use expectation::CheckedExpectation;
pub use findings::{FINDINGS_SCHEMA, Findings, SchemaName, StudyHeader};
pub use format::{UnitName, format_estimate, format_value};
pub use published::PublishedComparison;
pub use starvation::{Starvation, StarvationStep};
pub use table::{FindingsTable, TableCell};
