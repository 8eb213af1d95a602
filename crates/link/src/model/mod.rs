//! A topology as nodes and stages.

mod builder;
mod direction;
mod network;
mod stages;
mod streams;

pub use direction::DirectionReport;
pub use network::{HostArrival, NetworkModel};
