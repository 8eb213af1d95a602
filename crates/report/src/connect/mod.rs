//! Tests of the connection rate in reports, comparisons and exports.

mod panels;
mod report;
mod section;

pub(crate) use report::ConnectRunReport;
