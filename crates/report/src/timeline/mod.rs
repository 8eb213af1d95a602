//! Flows over time, whatever measured them: the base of figures, tables and CSV. A quantity that a document does not
//! report is absent, never zero, and time that no interval covers stays a gap.

mod cleaning;
mod combine;
mod flow_timeline;
pub mod quantities;
mod sources;
#[cfg(test)]
pub(crate) mod test_intervals;

pub use flow_timeline::{FlowTimeline, end_of};
pub use sources::{flows_of_run, flows_of_trial, totals_of_run};
