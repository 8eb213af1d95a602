//! What can be known of the link behind an interface.

use super::driver_settings::driver_settings;
use super::ethtool::driver;
use super::ethtool_netlink::{EthtoolNetlink, LinkStateReading, MacCounters};
use super::link::LinkMessage;
use super::link_settings::LinkSettings;
use super::wireless::is_wireless;
use crate::netlink::{DeviceCounters, Netlink};

/// What the kernel reports of the link behind an interface; `None` where it does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReading {
    /// The name of the interface.
    pub name: String,
    /// The type of its hardware, `ARPHRD_…`: 1 for Ethernet, IEEE 802.11 included. Source: include/uapi/linux/if_arp.h.
    pub hardware_type: u16,
    /// Its kind where it is made by software, such as `veth`: `IFLA_INFO_KIND`.
    pub kind: Option<String>,
    /// The name of its driver.
    pub driver: Option<String>,
    /// `true` when it is wireless, IEEE 802.11.
    pub is_wireless: Option<bool>,
    /// Its settings and those of the link partner.
    pub settings: LinkSettings,
    /// The state of the link.
    pub state: LinkStateReading,
}

impl LinkReading {
    /// The link behind the interface called `name`, in the network namespace of the calling thread; `None` when there is no such
    /// interface.
    ///
    /// Virtual interfaces report a speed and a duplex mode too, which are invented or those that somebody set.
    pub fn by_name(name: &str) -> Option<Self> {
        let link = LinkMessage::by_name(name)?;
        let ethtool = EthtoolNetlink::open();
        let ethtool = ethtool.as_ref();
        let settings = ethtool
            .and_then(|ethtool| ethtool.link_settings(link.index))
            .or_else(|| driver_settings(name));
        let mut state = ethtool
            .map(|ethtool| ethtool.link_state(link.index))
            .unwrap_or_default();
        state.is_detected = state
            .is_detected
            .or(Some(link.flags & libc::IFF_LOWER_UP as u32 != 0));
        Some(Self {
            name: link.name,
            hardware_type: link.hardware_type,
            kind: link.kind,
            driver: driver(name),
            is_wireless: is_wireless(link.index),
            settings: settings.unwrap_or_default(),
            state,
        })
    }
}

/// The interface on which the interface called `name` is stacked, as a VLAN or a macvlan is, whose packets it sends; `None` when there is
/// none, or it belongs to another network namespace.
pub fn lower_interface(name: &str) -> Option<String> {
    let lower = LinkMessage::by_name(name)?.lower?;
    Some(LinkMessage::by_index(lower)?.name)
}

/// The counters of an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounterReading {
    /// Those that every device has; `None` when there is no such interface.
    pub device: Option<DeviceCounters>,
    /// Those of its MAC; `None` when the kernel or the driver reports none.
    pub mac: Option<MacCounters>,
}

impl LinkCounterReading {
    /// The counters of the interface called `name`, in the network namespace of the calling thread.
    pub fn by_name(name: &str) -> Self {
        let Some(link) = LinkMessage::by_name(name) else {
            return Self::default();
        };
        let rtnetlink = Netlink::open().ok();
        Self {
            device: rtnetlink.and_then(|netlink| netlink.counters(link.index).ok()),
            mac: EthtoolNetlink::open().and_then(|ethtool| ethtool.mac_counters(link.index)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_no_ethernet_and_has_no_settings() {
        let lo = LinkReading::by_name("lo").unwrap();
        // `ARPHRD_LOOPBACK`.
        assert_eq!(lo.hardware_type, 772);
        assert_eq!(lo.settings, LinkSettings::default());
        assert_eq!((lo.kind, lo.driver), (None, None));
        assert_eq!(lo.is_wireless, Some(false));
        assert_eq!(lower_interface("lo"), None);
        assert!(LinkCounterReading::by_name("lo").device.is_some());
    }

    #[test]
    fn an_interface_that_does_not_exist_has_nothing() {
        assert_eq!(LinkReading::by_name("no-such-name"), None);
        assert_eq!(
            LinkCounterReading::by_name("no-such-name"),
            LinkCounterReading::default()
        );
        assert_eq!(lower_interface("no-such-name"), None);
    }
}
