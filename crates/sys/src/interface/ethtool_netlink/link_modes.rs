//! Autonegotiation, and the modes of both ends of a link: `ETHTOOL_MSG_LINKMODES_GET`.

use super::super::link_settings::{LinkSettings, full_duplex, known_speed};
use super::bitset::NamedBits;
use super::request::{EthtoolNetlink, EthtoolRequest};
use crate::netlink::attributes;
use crate::raw;

/// The attributes of the reply. Source: include/uapi/linux/ethtool_netlink.h.
const AUTONEGOTIATION: u16 = 2;
const OURS: u16 = 3;
const PARTNER: u16 = 4;
const SPEED: u16 = 5;
const DUPLEX: u16 = 6;
const LANES: u16 = 9;

impl EthtoolNetlink {
    /// The settings of the link behind interface `index`; `None` when its driver does not report them.
    pub(in crate::interface) fn link_settings(&self, index: u32) -> Option<LinkSettings> {
        let reply = self.ask(EthtoolRequest::LinkModes, index, &[])?;
        Some(decode(&reply))
    }
}

fn decode(reply: &[u8]) -> LinkSettings {
    let attributes = attributes(reply);
    let byte = |kind| attributes.get(&kind)?.first().copied();
    let word = |kind| raw::u32_at(attributes.get(&kind)?, 0);
    let names = |kind| NamedBits::decode(attributes.get(&kind)?);
    let (supported, advertised) = names(OURS).map(|ours| (ours.listed, ours.set)).unzip();
    LinkSettings {
        speed_mbps: word(SPEED).and_then(known_speed),
        is_full_duplex: byte(DUPLEX).and_then(full_duplex),
        is_autonegotiating: byte(AUTONEGOTIATION).map(|on| on != 0),
        supported,
        advertised,
        partner: names(PARTNER).map(|partner| partner.set),
        lanes: word(LANES).filter(|lanes| *lanes != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::bitset::tests::verbose;
    use super::*;
    use crate::netlink::{push_attribute, push_nested};
    use proptest::prelude::*;

    fn reply(speed: u32, duplex: u8) -> Vec<u8> {
        let mut reply = Vec::new();
        push_nested(&mut reply, 1, &[]);
        push_attribute(&mut reply, AUTONEGOTIATION, &[1]);
        let ours = [("100baseT/Full", true), ("1000baseT/Full", false)];
        push_nested(&mut reply, OURS, &verbose(true, &ours));
        let partner = [("Autoneg", false), ("100baseT/Full", false)];
        push_nested(&mut reply, PARTNER, &verbose(false, &partner));
        push_attribute(&mut reply, SPEED, &speed.to_ne_bytes());
        push_attribute(&mut reply, DUPLEX, &[duplex]);
        push_attribute(&mut reply, LANES, &4_u32.to_ne_bytes());
        reply
    }

    #[test]
    fn both_ends_modes_are_read_by_their_names() {
        let settings = decode(&reply(100, 1));
        let expected = LinkSettings {
            speed_mbps: Some(100),
            is_full_duplex: Some(true),
            is_autonegotiating: Some(true),
            supported: Some(vec![
                "100baseT/Full".to_owned(),
                "1000baseT/Full".to_owned(),
            ]),
            advertised: Some(vec!["100baseT/Full".to_owned()]),
            partner: Some(vec!["Autoneg".to_owned(), "100baseT/Full".to_owned()]),
            lanes: Some(4),
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn what_a_driver_does_not_know_is_none() {
        let unknown = decode(&reply(u32::MAX, 255));
        assert_eq!((unknown.speed_mbps, unknown.is_full_duplex), (None, None));
        assert_eq!(decode(&[]), LinkSettings::default());
    }

    proptest! {
        #[test]
        fn a_reply_that_is_cut_or_changed_is_read_as_far_as_it_goes(cut in 0_usize..300, at in any::<usize>(), byte in any::<u8>()) {
            let mut reply = reply(100, 0);
            let settings = decode(&reply[..cut.min(reply.len())]);
            prop_assert!(settings.speed_mbps.is_none_or(|speed| speed == 100));
            let at = at % reply.len();
            reply[at] = byte;
            let _ = decode(&reply);
        }
    }
}
