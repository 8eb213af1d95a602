//! The metrics of a trial: every one that could be measured, by its full name, in base units.

mod captured;
mod fair_share;
mod file;
mod headline;
mod links;
mod metric_set;
mod path;
mod round_trips;
mod throughput;
mod trial_metrics;

pub use fair_share::fair_shares_of_flows;
pub use headline::headline;
pub use trial_metrics::trial_metrics;
