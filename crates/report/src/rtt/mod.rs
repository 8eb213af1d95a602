//! Round-trip tests in reports, comparisons and exports.

mod report;

pub(crate) use report::RttRunReport;
