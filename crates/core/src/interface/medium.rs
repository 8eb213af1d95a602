//! What a link is made of.

/// What the link behind an interface is made of, as far as it matters to duplex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkMedium {
    /// A cable or fibre of Ethernet.
    Ethernet,
    /// A radio of IEEE 802.11, whose stations share one channel.
    Wireless,
    /// None: software, or the paravirtual interface of a virtual machine. The speed and the duplex mode that it reports are invented.
    Virtual,
    /// Something else than Ethernet, such as a loopback interface, a tunnel or PPP.
    Other,
}

/// The type of the hardware of Ethernet: `ARPHRD_ETHER`, include/uapi/linux/if_arp.h.
const ETHERNET: u16 = 1;
/// The kinds of interfaces with a cable: the ports of a switch that is part of the machine.
const KINDS_WITH_CABLE: [&str; 1] = ["dsa"];
/// The drivers of paravirtual interfaces, which have no kind. Source: drivers/net of Linux, by their `KBUILD_MODNAME`.
const PARAVIRTUAL_DRIVERS: [&str; 10] = [
    "ena",
    "gve",
    "hv_netvsc",
    "ibmveth",
    "ibmvnic",
    "mana",
    "vif",
    "virtio_net",
    "vmxnet3",
    "xen_netfront",
];

impl LinkMedium {
    /// The medium of an interface with this type of hardware, kind and driver, each `None` where it is not known; `None` when the type of
    /// its hardware is not.
    pub(super) fn of_interface(
        hardware_type: Option<u16>,
        is_wireless: Option<bool>,
        kind: Option<&str>,
        driver: Option<&str>,
    ) -> Option<Self> {
        let hardware_type = hardware_type?;
        let is_made_by_software = kind.is_some_and(|kind| !KINDS_WITH_CABLE.contains(&kind));
        let is_paravirtual = driver.is_some_and(|name| PARAVIRTUAL_DRIVERS.contains(&name));
        let medium = if hardware_type != ETHERNET {
            Self::Other
        } else if is_made_by_software || is_paravirtual {
            Self::Virtual
        } else if is_wireless == Some(true) {
            Self::Wireless
        } else {
            Self::Ethernet
        };
        Some(medium)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_medium_is_told_by_hardware_kind_driver_and_radio() {
        let table = [
            ((1, false, "", "e1000e"), LinkMedium::Ethernet),
            ((1, false, "dsa", "dsa"), LinkMedium::Ethernet),
            ((1, true, "", "iwlwifi"), LinkMedium::Wireless),
            ((1, false, "veth", "veth"), LinkMedium::Virtual),
            ((1, false, "tun", "tun"), LinkMedium::Virtual),
            ((1, false, "bridge", "bridge"), LinkMedium::Virtual),
            ((1, false, "", "virtio_net"), LinkMedium::Virtual),
            ((1, true, "virt_wifi", ""), LinkMedium::Virtual),
            ((772, false, "", ""), LinkMedium::Other),
            ((65534, false, "wireguard", ""), LinkMedium::Other),
        ];
        for ((hardware, is_wireless, kind, driver), medium) in table {
            let known = |name: &'static str| Some(name).filter(|name| !name.is_empty());
            let found = LinkMedium::of_interface(
                Some(hardware),
                Some(is_wireless),
                known(kind),
                known(driver),
            );
            assert_eq!(found, Some(medium), "{hardware} {kind} {driver}");
        }
        let unknown = LinkMedium::of_interface(None, Some(true), None, None);
        assert_eq!(unknown, None);
    }
}
