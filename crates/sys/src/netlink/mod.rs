//! rtnetlink(7): devices, addresses, routes and queues of the network namespace in which a connection was opened.
//!
//! Written here because the libraries leave token buckets with their overhead and multipath routes to raw bytes, and because
//! they come with an async runtime.

mod attribute;
mod connection;
mod device;
mod queue;
mod route;

pub(crate) use attribute::{attributes, family, ip_address, push_attribute, text};
pub use connection::Netlink;
pub use device::{DeviceCounters, DeviceSettings};
pub use queue::{QueueCounters, TbfSettings};
pub use route::RouteHop;
