//! Bulk transfers: what TCP and UDP have in common.

mod arrivals;
mod client;
mod flows;
mod limit;
mod outcome;
mod peer_samples;
mod server;

pub use outcome::{BulkOutcome, flow_records};

pub(crate) use client::BulkClientHalf;
pub(crate) use flows::{BulkFlows, BulkTasks};
pub(crate) use limit::limit;
pub(crate) use server::BulkServerHalf;
