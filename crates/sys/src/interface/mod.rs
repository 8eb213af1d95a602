//! Network interfaces and the links behind them, the routes to addresses, and the drops of queues.
//!
//! Everything is requested through sockets and not read from `/sys`, which keeps showing the network
//! namespace it was mounted in to threads that have moved to another.

mod address;
mod driver_settings;
mod ethtool;
mod ethtool_netlink;
mod interface;
mod link;
mod link_reading;
mod link_settings;
mod route;
mod wireless;

pub use address::{LocalAddress, local_addresses};
pub use driver_settings::{driver_settings, set_speed};
pub(crate) use ethtool::ifreq;
pub use ethtool::{OffloadState, capture_offloads, request_offloads, turn_offloads_off};
pub use ethtool_netlink::{LinkStateReading, MacCounters};
pub use interface::{
    Interface, interface_counters, interface_index, interface_names, interface_state,
    qdisc_backlog, qdisc_drops,
};
pub use link_reading::{LinkCounterReading, LinkReading, lower_interface};
pub use link_settings::LinkSettings;
pub use route::{Route, route_from, route_of_connection, route_to, route_to_socket};
