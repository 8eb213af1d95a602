//! The link of an interface as its driver describes it to generic netlink: the family `ethtool`, ethtool(8).
//!
//! Source of commands and attributes: include/uapi/linux/ethtool_netlink.h and Documentation/networking/ethtool-netlink.rst. A kernel
//! before 5.6 has none of it, one before 5.13 no counters; what a driver does not report is `None`.

mod bitset;
mod link_modes;
mod link_state;
mod mac_counters;
mod request;

pub use link_state::LinkStateReading;
pub use mac_counters::MacCounters;
pub(super) use request::EthtoolNetlink;
