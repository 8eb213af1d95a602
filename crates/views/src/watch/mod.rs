//! What is known of watched paths, as metrics.

mod exposition;
mod family;
mod histogram;
mod path_metrics;

pub use exposition::{DescribedMetric, described_metrics, metric_names, path_exposition};
pub use histogram::TimeHistogram;
pub use path_metrics::{PathMetrics, SkipReason};
