//! `--prometheus`: what a server has done, or what is known of watched paths, in OpenMetrics over HTTP.

mod address;
mod connection;
mod counters;
mod metrics_server;

pub use address::MetricsAddress;
pub use counters::ServerCounters;
pub use metrics_server::MetricsServer;
