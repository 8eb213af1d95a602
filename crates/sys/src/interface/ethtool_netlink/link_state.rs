//! Whether a link is up, and how good its signal is: `ETHTOOL_MSG_LINKSTATE_GET`.

use super::request::{EthtoolNetlink, EthtoolRequest};
use crate::netlink::attributes;
use crate::raw;

/// The attributes of the reply. Source: include/uapi/linux/ethtool_netlink.h.
const LINK: u16 = 2;
const SQI: u16 = 3;
const SQI_MAX: u16 = 4;
const EXTENDED_STATE: u16 = 5;

/// The state of a link; `None` where its driver does not report it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkStateReading {
    /// `true` when a link is detected.
    pub is_detected: Option<bool>,
    /// The signal quality index of the receiver, from 0 to `sqi_max`.
    pub sqi: Option<u32>,
    /// The largest value of the signal quality index.
    pub sqi_max: Option<u32>,
    /// Why there is no link, in the words of ethtool(8).
    pub extended_state: Option<String>,
}

/// The extended states by their numbers. Source: `enum ethtool_link_ext_state`, include/uapi/linux/ethtool.h, for which the kernel has no
/// set of strings; the words are those of ethtool(8).
const EXTENDED_STATES: [&str; 11] = [
    "Autoneg",
    "Link training failure",
    "Link logical mismatch",
    "Bad signal integrity",
    "No cable",
    "Cable issue",
    "EEPROM issue",
    "Calibration failure",
    "Power budget exceeded",
    "Overheat",
    "Module",
];

impl EthtoolNetlink {
    /// The state of the link behind interface `index`.
    pub(in crate::interface) fn link_state(&self, index: u32) -> LinkStateReading {
        let reply = self.ask(EthtoolRequest::LinkState, index, &[]);
        decode(&reply.unwrap_or_default())
    }
}

fn decode(reply: &[u8]) -> LinkStateReading {
    let attributes = attributes(reply);
    let byte = |kind| attributes.get(&kind)?.first().copied();
    let word = |kind| raw::u32_at(attributes.get(&kind)?, 0);
    LinkStateReading {
        is_detected: byte(LINK).map(|link| link != 0),
        sqi: word(SQI),
        sqi_max: word(SQI_MAX),
        extended_state: byte(EXTENDED_STATE).map(extended_state),
    }
}

fn extended_state(number: u8) -> String {
    EXTENDED_STATES
        .get(usize::from(number))
        .map_or_else(|| number.to_string(), |&state| state.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::push_attribute;

    #[test]
    fn a_state_is_read_as_far_as_the_reply_goes() {
        let mut reply = Vec::new();
        push_attribute(&mut reply, LINK, &[0]);
        push_attribute(&mut reply, SQI, &3_u32.to_ne_bytes());
        push_attribute(&mut reply, SQI_MAX, &7_u32.to_ne_bytes());
        push_attribute(&mut reply, EXTENDED_STATE, &[4]);
        let whole = LinkStateReading {
            is_detected: Some(false),
            sqi: Some(3),
            sqi_max: Some(7),
            extended_state: Some("No cable".to_owned()),
        };
        assert_eq!(decode(&reply), whole);
        for length in 0..reply.len() {
            let cut = decode(&reply[..length]);
            assert!(cut.is_detected.is_none_or(|link| !link), "{length}");
            assert!(cut.sqi.is_none_or(|sqi| sqi == 3), "{length}");
        }
        assert_eq!(decode(&[]), LinkStateReading::default());
        // Attributes without the bytes that they should have.
        let empty: Vec<u8> = [LINK, SQI, EXTENDED_STATE]
            .into_iter()
            .flat_map(|kind| [4_u16.to_ne_bytes(), kind.to_ne_bytes()].concat())
            .collect();
        assert_eq!(decode(&empty), LinkStateReading::default());
        assert_eq!(extended_state(200), "200");
    }
}
