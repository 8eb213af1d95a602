//! Flows of UDP datagrams.

mod numbers;
mod recognise;
mod tracker;

pub(crate) use tracker::{TrackedDatagram, UdpTracker};
