//! `caudal serve --prometheus`: what a server has done, as counters in OpenMetrics over HTTP.

mod address;
mod connection;
mod counters;
mod metrics_server;

pub use address::MetricsAddress;
pub use metrics_server::MetricsServer;
