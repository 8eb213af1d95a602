//! The link behind the interface by which a peer is reached.

use caudal_core::interface::{DuplexMode, InterfaceLink, LinkErrors, LinkModes};
use caudal_sys::interface::{
    LinkCounterReading, LinkReading, LinkSettings, lower_interface, route_from,
};
use std::net::IpAddr;

/// Maximum number of interfaces in a stack, as a VLAN within a VLAN on a macvlan.
const MAX_STACKED: usize = 4;
/// The name among modes that says that an end negotiates. Source: `link_mode_names`, net/ethtool/common.c.
const AUTONEGOTIATION: &str = "Autoneg";

/// Reads the link, and the counters, of the interface by which a peer is reached. Every reading is of one interface, however routes change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkReader {
    /// The interface with the link.
    interface: String,
    /// The interface that a route names, where it is stacked on that one.
    upper: Option<String>,
}

impl LinkReader {
    /// A reader for the interface by which packets to `peer`, from the address `source` of this machine if there is one, leave it in the
    /// network namespace of the calling thread; `None` when there is no route. Readings are taken in the same namespace.
    #[must_use]
    pub fn towards(peer: IpAddr, source: Option<IpAddr>) -> Option<Self> {
        route_from(source, peer).map(|route| Self::of_interface(&route.interface))
    }

    /// A reader for the interface of this name; of one that is stacked on another, as a VLAN is, for the lowest.
    #[must_use]
    pub fn of_interface(name: &str) -> Self {
        let mut interface = name.to_owned();
        for _ in 0..MAX_STACKED {
            match lower_interface(&interface) {
                Some(lower) => interface = lower,
                None => break,
            }
        }
        let upper = (interface != name).then(|| name.to_owned());
        Self { interface, upper }
    }

    /// The link as kernel and driver describe it now; `None` when the interface is gone.
    #[must_use]
    pub fn link(&self) -> Option<InterfaceLink> {
        let reading = LinkReading::by_name(&self.interface)?;
        Some(InterfaceLink {
            upper_interface: self.upper.as_deref().map(Into::into),
            ..interface_link(reading)
        })
    }

    /// The counters of the interface now; those that kernel or driver lack are `None`.
    #[must_use]
    pub fn errors(&self) -> LinkErrors {
        link_errors(&LinkCounterReading::by_name(&self.interface))
    }
}

fn interface_link(reading: LinkReading) -> InterfaceLink {
    let LinkSettings {
        speed_mbps,
        is_full_duplex,
        is_autonegotiating,
        supported,
        advertised,
        partner,
        lanes,
    } = reading.settings;
    let negotiates = |names: &Option<Vec<String>>| {
        let names = names.as_ref()?;
        Some(names.iter().any(|name| name == AUTONEGOTIATION))
    };
    let modes = |names: &Option<Vec<String>>| {
        let names = names.as_ref()?;
        Some(LinkModes::new(names.iter().map(String::as_str)))
    };
    InterfaceLink {
        interface: reading.name.into(),
        upper_interface: None,
        driver: reading.driver.map(Into::into),
        kind: reading.kind.map(Into::into),
        hardware_type: Some(reading.hardware_type),
        is_wireless: reading.is_wireless,
        link_detected: reading.state.is_detected,
        speed_mbps,
        duplex: is_full_duplex.map(|is_full| match is_full {
            true => DuplexMode::Full,
            false => DuplexMode::Half,
        }),
        autonegotiation: is_autonegotiating,
        autonegotiation_supported: negotiates(&supported),
        supported_modes: modes(&supported),
        advertised_modes: modes(&advertised),
        partner_modes: modes(&partner),
        partner_autonegotiation: negotiates(&partner),
        lanes,
        sqi: reading.state.sqi,
        sqi_max: reading.state.sqi_max,
        extended_state: reading.state.extended_state.map(Into::into),
    }
}

fn link_errors(reading: &LinkCounterReading) -> LinkErrors {
    let device = reading.device;
    let mac = reading.mac.unwrap_or_default();
    LinkErrors {
        rx_packets: device.map(|device| device.rx_packets),
        rx_bytes: device.map(|device| device.rx_bytes),
        rx_errors: device.map(|device| device.rx_errors),
        rx_dropped: device.map(|device| device.rx_dropped),
        rx_length_errors: device.map(|device| device.rx_length_errors),
        rx_crc_errors: device.map(|device| device.rx_crc_errors),
        rx_frame_errors: device.map(|device| device.rx_frame_errors),
        tx_packets: device.map(|device| device.tx_packets),
        tx_bytes: device.map(|device| device.tx_bytes),
        tx_errors: device.map(|device| device.tx_errors),
        tx_dropped: device.map(|device| device.tx_dropped),
        collisions: device.map(|device| device.collisions),
        tx_aborted_errors: device.map(|device| device.tx_aborted_errors),
        tx_carrier_errors: device.map(|device| device.tx_carrier_errors),
        tx_window_errors: device.map(|device| device.tx_window_errors),
        single_collision_frames: mac.single_collision_frames,
        multiple_collision_frames: mac.multiple_collision_frames,
        frame_check_sequence_errors: mac.frame_check_sequence_errors,
        alignment_errors: mac.alignment_errors,
        deferred_frames: mac.deferred_frames,
        late_collisions: mac.late_collisions,
        excessive_collision_frames: mac.excessive_collision_frames,
        carrier_sense_errors: mac.carrier_sense_errors,
        fragments: mac.fragments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::interface::LinkMedium;
    use caudal_sys::interface::{LinkStateReading, MacCounters};
    use std::net::{Ipv4Addr, UdpSocket};

    #[test]
    fn this_machine_is_reached_by_loopback_whose_counters_grow() {
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let reader = LinkReader::towards(local, Some(local)).unwrap();
        let link = reader.link().unwrap();
        assert_eq!(link.interface, "lo");
        assert_eq!(link.medium(), Some(LinkMedium::Other));
        assert_eq!((link.speed_mbps, link.upper_interface), (None, None));
        let before = reader.errors();
        let socket = UdpSocket::bind((local, 0)).unwrap();
        for _ in 0..10 {
            socket
                .send_to(&[0; 100], socket.local_addr().unwrap())
                .unwrap();
        }
        let grown = reader.errors().since(&before);
        assert!(grown.tx_packets.unwrap() >= 10, "{grown:?}");
        assert!(grown.tx_bytes.unwrap() >= 10 * 128, "{grown:?}");
        assert_eq!(grown.late_collisions, None);
    }

    #[test]
    fn an_interface_that_is_gone_has_no_link_and_no_counters() {
        let reader = LinkReader::of_interface("no-such-name");
        assert_eq!(reader.link(), None);
        assert_eq!(reader.errors(), LinkErrors::default());
    }

    #[test]
    fn what_the_kernel_reports_becomes_a_record() {
        let names = |names: &[&str]| Some(names.iter().map(ToString::to_string).collect());
        let reading = LinkReading {
            name: "eth0".to_owned(),
            hardware_type: 1,
            kind: None,
            driver: Some("r8169".to_owned()),
            is_wireless: Some(false),
            settings: LinkSettings {
                speed_mbps: Some(100),
                is_full_duplex: Some(false),
                is_autonegotiating: Some(true),
                supported: names(&["100baseT/Half", "Autoneg", "TP"]),
                advertised: names(&["100baseT/Half", "Autoneg"]),
                partner: names(&["100baseT/Half"]),
                lanes: None,
            },
            state: LinkStateReading {
                is_detected: Some(true),
                ..LinkStateReading::default()
            },
        };
        let link = interface_link(reading);
        let half = Some(LinkModes::new(["100baseT/Half"]));
        assert_eq!(link.duplex, Some(DuplexMode::Half));
        assert_eq!((&link.supported_modes, &link.partner_modes), (&half, &half));
        assert_eq!(link.autonegotiation_supported, Some(true));
        assert_eq!(link.partner_autonegotiation, Some(false));
        assert_eq!(link.medium(), Some(LinkMedium::Ethernet));
        let counters = LinkCounterReading {
            device: None,
            mac: Some(MacCounters {
                late_collisions: Some(3),
                ..MacCounters::default()
            }),
        };
        let errors = link_errors(&counters);
        assert_eq!((errors.late_collisions, errors.rx_packets), (Some(3), None));
    }
}
