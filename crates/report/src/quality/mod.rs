//! Tests of latency under load in reports, comparisons and exports.

mod metrics;
mod panels;
mod report;
mod section;
mod values;

pub(crate) use metrics::add_phases;
pub(crate) use report::{QualityRunReport, panels, phases};
pub(crate) use section::sentences;
pub(crate) use values::push_quality;
