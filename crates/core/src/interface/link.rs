//! The link behind an interface, as its end of a path knows it.

use super::medium::LinkMedium;
use super::modes::LinkModes;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A duplex mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DuplexMode {
    /// One direction at a time.
    Half,
    /// Both directions at once.
    Full,
}

/// The link behind an interface, as the end of a path that the interface belongs to reads it from its kernel. Keys that kernel or
/// driver do not report are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterfaceLink {
    /// The name of the interface.
    pub interface: ExternalText,
    /// The interface by which the other end is reached, where it is a VLAN or a macvlan on this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper_interface: Option<ExternalText>,
    /// Its driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<ExternalText>,
    /// Its kind where software makes it, such as `veth`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ExternalText>,
    /// The type of its hardware by its number in ARP, 1 for Ethernet and for IEEE 802.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware_type: Option<u16>,
    /// `true` when it is wireless, IEEE 802.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_wireless: Option<bool>,
    /// `true` when a link is detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_detected: Option<bool>,
    /// Its speed, Mbit/s; virtual interfaces report an invented one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u32>,
    /// Its duplex mode; virtual interfaces report an invented one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplex: Option<DuplexMode>,
    /// `true` when it negotiates speed and duplex mode with its link partner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonegotiation: Option<bool>,
    /// `true` when it is able to negotiate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autonegotiation_supported: Option<bool>,
    /// The modes that it supports; none where there is no physical layer that the driver knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_modes: Option<LinkModes>,
    /// The modes that it advertises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertised_modes: Option<LinkModes>,
    /// The modes that its link partner advertises; absent where it advertises none, or the driver does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner_modes: Option<LinkModes>,
    /// `true` when the link partner negotiates; absent where the driver reports nothing of the partner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partner_autonegotiation: Option<bool>,
    /// The number of its lanes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lanes: Option<u32>,
    /// The signal quality index of its receiver, from 0 to `sqi_max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqi: Option<u32>,
    /// The largest value of the signal quality index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sqi_max: Option<u32>,
    /// Why no link is detected, in the words of ethtool(8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_state: Option<ExternalText>,
}

impl InterfaceLink {
    /// What the link is made of; `None` when the type of the hardware is not known.
    #[must_use]
    pub fn medium(&self) -> Option<LinkMedium> {
        LinkMedium::of_interface(
            self.hardware_type,
            self.is_wireless,
            self.kind.as_ref().map(ExternalText::as_received),
            self.driver.as_ref().map(ExternalText::as_received),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_reported_has_no_key_and_what_is_reads_back() {
        let nothing = InterfaceLink {
            interface: "eth0".into(),
            ..InterfaceLink::default()
        };
        let document = serde_json::to_string(&nothing).unwrap();
        assert_eq!(document, r#"{"interface":"eth0"}"#);
        let link = InterfaceLink {
            upper_interface: Some("eth0.5".into()),
            driver: Some("e1000e".into()),
            hardware_type: Some(1),
            is_wireless: Some(false),
            link_detected: Some(true),
            speed_mbps: Some(100),
            duplex: Some(DuplexMode::Half),
            autonegotiation: Some(true),
            autonegotiation_supported: Some(true),
            supported_modes: Some(LinkModes::new(["10baseT/Half", "100baseT/Half"])),
            advertised_modes: Some(LinkModes::new(["100baseT/Half", "100baseT/Full"])),
            partner_modes: Some(LinkModes::new(["100baseT/Half"])),
            partner_autonegotiation: Some(false),
            sqi: Some(3),
            sqi_max: Some(7),
            ..nothing
        };
        let document = serde_json::to_value(&link).unwrap();
        assert_eq!(document["duplex"], "half");
        assert_eq!(link.medium(), Some(LinkMedium::Ethernet));
        assert_eq!(document["advertised_modes"][1], "100baseT/Full");
        assert_eq!(
            serde_json::from_value::<InterfaceLink>(document).unwrap(),
            link
        );
    }

    #[test]
    fn a_peer_of_another_version_may_have_fewer_keys_and_others() {
        let read: InterfaceLink = serde_json::from_str(r#"{"later":[1],"lanes":4}"#).unwrap();
        assert_eq!(read.lanes, Some(4));
        assert_eq!(read.medium(), None);
    }
}
