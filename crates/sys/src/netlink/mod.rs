//! rtnetlink(7): devices, addresses, routes and queues of the network namespace in which a connection was opened; and the families of
//! generic netlink.
//!
//! Written here because the libraries leave token buckets with their overhead and multipath routes to raw bytes, and because
//! they come with an async runtime.

mod attribute;
mod device;
mod generic;
mod queue;
mod route;
mod socket;

pub(crate) use attribute::{
    attribute_list, attributes, family, ip_address, push_attribute, push_nested, text,
};
pub use device::{DeviceCounters, DeviceSettings, DeviceState};
pub(crate) use generic::GenericNetlink;
pub use queue::{QueueCounters, TbfSettings};
pub use route::RouteHop;
pub use socket::Netlink;
