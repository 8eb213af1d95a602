//! Several tests of one host in reports, comparisons and exports.

mod report;

pub(crate) use report::CheckRunReport;
