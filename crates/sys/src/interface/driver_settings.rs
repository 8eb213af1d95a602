//! The settings of a link by ioctl(2), for kernels without the family `ethtool` of generic netlink.

use super::ethtool::{EthtoolCommand, ask_driver, string_set};
use super::link_settings::{LinkSettings, full_duplex, known_speed};
use crate::raw;

/// The set of strings that are the names of link modes: `ETH_SS_LINK_MODES`, include/uapi/linux/ethtool.h.
const LINK_MODES: u32 = 9;
/// The length of a `struct ethtool_link_settings` without its masks.
const LINK_SETTINGS: usize = 48;
/// The length of a `struct ethtool_cmd`.
const LEGACY_SETTINGS: usize = 44;

/// The settings of the link behind interface `name`; `None` when its driver does not report them. The names of modes are `None` before
/// Linux 5.6.
pub fn driver_settings(name: &str) -> Option<LinkSettings> {
    link_settings(name).or_else(|| legacy_settings(name))
}

/// The settings by `ETHTOOL_GLINKSETTINGS`, Linux 4.6.
fn link_settings(name: &str) -> Option<LinkSettings> {
    const WORDS: usize = 15;
    let ask = |words: i8| {
        let mut arguments = [0; LINK_SETTINGS - 4];
        arguments[WORDS - 4] = words.cast_unsigned();
        ask_driver(name, EthtoolCommand::GetLinkSettings, &arguments).ok()
    };
    // A request for masks of no length is answered with their true length, negated.
    let words = ask(0)?.get(WORDS)?.cast_signed().checked_neg()?;
    let reply = ask(words)?;
    let names = || string_set(name, LINK_MODES);
    decode_link_settings(&reply, usize::try_from(words).ok()?, names)
}

/// Decodes a `struct ethtool_link_settings`: the speed at 4, the duplex at 8, autonegotiation at 11, then masks of `words` words:
/// supported, advertised, and advertised by the link partner.
fn decode_link_settings(
    reply: &[u8],
    words: usize,
    names: impl Fn() -> Option<Vec<String>>,
) -> Option<LinkSettings> {
    let modes = |mask: usize| -> Option<Vec<String>> {
        let masks = reply.get(LINK_SETTINGS + mask * words * 4..)?;
        let mask = masks.get(..words * 4)?;
        let is_set = |bit: usize| {
            let word = raw::u32_at(mask, bit / 32 * 4).unwrap_or(0);
            word >> (bit % 32) & 1 != 0
        };
        let named = names()?.into_iter().enumerate();
        let set = named.filter(|(bit, _)| is_set(*bit));
        Some(set.map(|(_, name)| name).collect())
    };
    Some(LinkSettings {
        speed_mbps: known_speed(raw::u32_at(reply, 4)?),
        is_full_duplex: full_duplex(*reply.get(8)?),
        is_autonegotiating: reply.get(11).map(|on| *on != 0),
        supported: modes(0),
        advertised: modes(1),
        partner: modes(2).filter(|modes| !modes.is_empty()),
        lanes: None,
    })
}

/// The settings by `ETHTOOL_GSET`, which every kernel has: without the names of modes.
pub(super) fn legacy_settings(name: &str) -> Option<LinkSettings> {
    let arguments = [0; LEGACY_SETTINGS - 4];
    let reply = ask_driver(name, EthtoolCommand::GetSettings, &arguments).ok()?;
    // `struct ethtool_cmd`: the halves of the speed at 12 and 28, the duplex at 14, autonegotiation at 18.
    let low = u32::from(raw::u16_at(&reply, 12)?);
    let high = u32::from(raw::u16_at(&reply, 28)?);
    Some(LinkSettings {
        speed_mbps: known_speed(low | high << 16),
        is_full_duplex: full_duplex(*reply.get(14)?),
        is_autonegotiating: reply.get(18).map(|on| *on != 0),
        ..LinkSettings::default()
    })
}

/// Sets the speed, in Mbit/s, and the duplex that a device without a physical link reports.
///
/// # Errors
/// When the driver refuses; a TAP device accepts it, a veth does not.
pub fn set_speed(name: &str, mbps: u32, half_duplex: bool) -> std::io::Result<()> {
    let mut settings = [0; LEGACY_SETTINGS];
    settings[12..14].copy_from_slice(&(mbps as u16).to_ne_bytes());
    settings[28..30].copy_from_slice(&((mbps >> 16) as u16).to_ne_bytes());
    settings[14] = u8::from(!half_duplex);
    ask_driver(name, EthtoolCommand::SetSettings, &settings[4..]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_the_bits_of_three_masks() {
        let mut reply = vec![0; LINK_SETTINGS];
        reply[4..8].copy_from_slice(&10_u32.to_ne_bytes());
        reply[11] = 1;
        // Supported, advertised and the partner's: two words each.
        for word in [0b111_u32, 0b10, 0b101, 0b10, 0b1, 0] {
            reply.extend_from_slice(&word.to_ne_bytes());
        }
        let modes = |bits: &[u32]| -> Vec<String> {
            bits.iter().map(|bit| format!("mode {bit}")).collect()
        };
        let names = || Some(modes(&Vec::from_iter(0..40)));
        let expected = LinkSettings {
            speed_mbps: Some(10),
            is_full_duplex: Some(false),
            is_autonegotiating: Some(true),
            supported: Some(modes(&[0, 1, 2, 33])),
            advertised: Some(modes(&[0, 2, 33])),
            partner: Some(modes(&[0])),
            lanes: None,
        };
        assert_eq!(decode_link_settings(&reply, 2, names), Some(expected));
        for length in 0..reply.len() {
            let cut = decode_link_settings(&reply[..length], 2, names);
            assert!(
                cut.is_none_or(|settings| settings.partner.is_none()),
                "{length}"
            );
        }
        let nameless = decode_link_settings(&reply, 2, || None).unwrap();
        assert_eq!((nameless.advertised, nameless.partner), (None, None));
    }

    #[test]
    fn the_loopback_interface_has_no_settings() {
        assert_eq!(driver_settings("lo"), None);
        assert_eq!(driver_settings("no-such-name"), None);
    }
}
