//! The description of an interface.

use super::driver_settings::legacy_settings;
use super::ethtool::{driver, offloads};
use super::link::LinkMessage;
use crate::netlink::{DeviceCounters, DeviceState, Netlink};
use std::io;

/// A network interface and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `eth0`.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its MTU, in bytes with the IP header.
    pub mtu: u32,
    /// The speed its driver reports, in Mbit/s; virtual interfaces report none or an invented one.
    pub speed_mbps: Option<u32>,
    /// `full` or `half`, where its driver reports it.
    pub duplex: Option<String>,
    /// The name of its driver.
    pub driver: Option<String>,
    /// Its alias, `ip link set … alias`.
    pub alias: Option<String>,
    /// `true` for a loopback interface.
    pub is_loopback: bool,
    /// The kind of its root queueing discipline, such as `fq_codel`.
    pub qdisc: Option<String>,
    /// Its offloads by the names of `ethtool -k`, and whether they are enabled.
    pub offloads: Vec<(String, bool)>,
}

impl Interface {
    /// The names of the interfaces of this network namespace, in the order in which the kernel lists them.
    #[must_use]
    pub fn names() -> Vec<String> {
        LinkMessage::all()
            .into_iter()
            .map(|link| link.name)
            .collect()
    }

    /// The interface called `name`, in the network namespace of the calling thread.
    pub fn by_name(name: &str) -> Option<Self> {
        let link = LinkMessage::by_name(name)?;
        let settings = legacy_settings(name).unwrap_or_default();
        let duplex = settings.is_full_duplex.map(|is_full| match is_full {
            true => "full".to_owned(),
            false => "half".to_owned(),
        });
        Some(Self {
            name: link.name,
            index: link.index,
            mtu: link.mtu,
            speed_mbps: settings.speed_mbps,
            duplex,
            driver: driver(name),
            alias: link.alias,
            is_loopback: link.flags & libc::IFF_LOOPBACK as u32 != 0,
            qdisc: link.qdisc,
            offloads: offloads(name).unwrap_or_default(),
        })
    }
}

/// The index of the interface of a name, or of an index as text; `None` where there is none.
pub fn interface_index(name: &str) -> Option<u32> {
    let named = LinkMessage::by_name(name).filter(|_| !name.is_empty());
    let link =
        named.or_else(|| LinkMessage::by_index(name.parse().ok().filter(|nth| *nth > 0)?))?;
    Some(link.index)
}

/// The names of the interfaces in the network namespace of the calling thread.
pub fn interface_names() -> Vec<String> {
    LinkMessage::all()
        .into_iter()
        .map(|link| link.name)
        .collect()
}

/// The packets that the queueing disciplines of interface `index` have dropped before sending.
///
/// It is the count of the root, to which the kernel adds the drops of the queues below it. `None` when the interface does
/// not exist or has no queue.
pub fn qdisc_drops(index: u32) -> Option<u64> {
    let counters = Netlink::open().ok()?.queue_counters(index).ok()??;
    Some(counters.drops.into())
}

/// The counters of interface `index`; `None` when it does not exist.
#[must_use]
pub fn interface_counters(index: u32) -> Option<DeviceCounters> {
    Netlink::open().ok()?.counters(index).ok()
}

/// The state of an interface; `Ok(None)` when there is none with this index.
///
/// # Errors
/// When the kernel does not tell.
pub fn interface_state(index: u32) -> io::Result<Option<DeviceState>> {
    match Netlink::open()?.device_state(index) {
        Ok(state) => Ok(Some(state)),
        Err(cause) if cause.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Bytes in an interface's queueing discipline; `None` when the kernel does not report them.
#[must_use]
pub fn qdisc_backlog(index: u32) -> Option<u64> {
    let counters = Netlink::open().ok()?.queue_counters(index).ok()??;
    Some(counters.backlog.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_no_end_to_lose() {
        let lo = Interface::by_name("lo").unwrap();
        let state = interface_state(lo.index).unwrap().unwrap();
        assert!(state.is_up && state.has_carrier, "{state:?}");
        assert_eq!(state.carrier_losses, Some(0));
        // An index beyond those of the kernel is none as well.
        assert_eq!(interface_state(i32::MAX as u32).unwrap(), None);
    }

    #[test]
    fn the_loopback_interface_is_described() {
        let lo = Interface::by_name("lo").unwrap();
        assert!(lo.is_loopback && lo.mtu >= 1280);
        assert_eq!((lo.speed_mbps, lo.duplex), (None, None));
        assert!(
            lo.offloads
                .contains(&("tx-udp-segmentation".to_owned(), true))
        );
    }

    #[test]
    fn an_interface_that_does_not_exist_is_none() {
        for name in ["", "no-such-name", "a-name-far-beyond-the-limit"] {
            assert_eq!(Interface::by_name(name), None, "{name}");
        }
        assert_eq!(qdisc_drops(u32::MAX), None);
    }
}
