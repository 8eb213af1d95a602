//! File transfers in reports, comparisons and exports.

mod report;
mod section;

pub(crate) use report::FileRunReport;
