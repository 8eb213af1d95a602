//! Network interfaces, the routes to addresses, and the drops of queues.
//!
//! Everything is requested through sockets and not read from `/sys`, which keeps showing the network
//! namespace it was mounted in to threads that have moved to another.

mod address;
mod ethtool;
mod ifreq;
#[expect(
    clippy::module_inception,
    reason = "the interface is the main idea of this folder"
)]
mod interface;
mod link;
mod route;

pub use address::{LocalAddress, local_addresses};
pub use ethtool::{OffloadState, capture_offloads, request_offloads, set_speed, turn_offloads_off};
pub(crate) use ifreq::ifreq;
pub use interface::{Interface, qdisc_backlog, qdisc_drops};
pub use route::{Route, route_from, route_to};
