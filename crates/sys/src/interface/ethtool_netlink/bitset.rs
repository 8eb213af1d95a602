//! Sets of bits that have names.

use crate::netlink::{attribute_list, attributes, text};

/// The attributes of a set and of a bit. Source: include/uapi/linux/ethtool_netlink.h.
const NO_MASK: u16 = 1;
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// The names of the bits of a set.
pub(super) struct NamedBits {
    /// Those that are set.
    pub(super) set: Vec<String>,
    /// Those of the mask; of a set without a mask those that are set.
    pub(super) listed: Vec<String>,
}

impl NamedBits {
    /// Decodes a set in the verbose form: with a mask it lists the bits of the mask and marks those that are set, without one it lists
    /// those that are set.
    pub(super) fn decode(set: &[u8]) -> Option<Self> {
        let attributes_of_set = attributes(set);
        let lists_bits_set = attributes_of_set.contains_key(&NO_MASK);
        let bits = attribute_list(attributes_of_set.get(&BITS)?);
        let bits = bits
            .filter(|(kind, _)| *kind == BIT)
            .filter_map(|(_, bit)| {
                let bit = attributes(bit);
                let is_set = lists_bits_set || bit.contains_key(&BIT_VALUE);
                Some((text(bit.get(&BIT_NAME)?), is_set))
            });
        let bits: Vec<(String, bool)> = bits.collect();
        let set = bits.iter().filter(|(_, is_set)| *is_set);
        Some(Self {
            set: set.map(|(name, _)| name.clone()).collect(),
            listed: bits.into_iter().map(|(name, _)| name).collect(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::netlink::{push_attribute, push_nested};
    use proptest::prelude::*;

    /// A set as the kernel writes it: its bits, each with a name and `true` where it is set.
    pub(in crate::interface::ethtool_netlink) fn verbose(
        has_mask: bool,
        bits: &[(&str, bool)],
    ) -> Vec<u8> {
        let mut list = Vec::new();
        for (index, (name, is_set)) in (0_u32..).zip(bits) {
            let mut bit = Vec::new();
            push_attribute(&mut bit, 1, &index.to_ne_bytes());
            push_attribute(&mut bit, BIT_NAME, &[name.as_bytes(), &[0]].concat());
            if *is_set {
                push_attribute(&mut bit, BIT_VALUE, &[]);
            }
            push_nested(&mut list, BIT, &bit);
        }
        let mut set = Vec::new();
        if !has_mask {
            push_attribute(&mut set, NO_MASK, &[]);
        }
        push_attribute(&mut set, 2, &121_u32.to_ne_bytes());
        push_nested(&mut set, BITS, &list);
        set
    }

    #[test]
    fn a_mask_lists_what_is_supported_and_no_mask_what_is_set() {
        let bits = [("10baseT/Half", true), ("Autoneg", false), ("MII", true)];
        let all = bits.map(|(name, _)| name);
        let masked = NamedBits::decode(&verbose(true, &bits)).unwrap();
        assert_eq!(masked.set, ["10baseT/Half", "MII"]);
        assert_eq!(masked.listed, all);
        let unmarked = bits.map(|(name, _)| (name, false));
        let unmasked = NamedBits::decode(&verbose(false, &unmarked)).unwrap();
        assert_eq!(unmasked.set, all);
        assert_eq!(unmasked.listed, all);
        let empty = NamedBits::decode(&verbose(true, &[])).unwrap();
        assert!(empty.set.is_empty() && empty.listed.is_empty());
        assert!(NamedBits::decode(&[]).is_none());
    }

    proptest! {
        #[test]
        fn a_set_that_is_cut_or_changed_has_no_more_names(cut in 0_usize..120, at in 0_usize..120, byte in any::<u8>()) {
            let mut set = verbose(true, &[("100baseT/Half", true), ("100baseT/Full", true)]);
            let cut = cut.min(set.len());
            prop_assert!(NamedBits::decode(&set[..cut]).is_none_or(|bits| bits.listed.len() <= 2));
            let at = at % set.len();
            set[at] = byte;
            let changed = NamedBits::decode(&set);
            prop_assert!(changed.is_none_or(|bits| bits.set.len() <= bits.listed.len()));
        }
    }
}
