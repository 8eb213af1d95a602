//! Sets of bits that have names.

use crate::netlink::{attribute_list, attributes, text};

/// The attributes of a set and of a bit. Source: include/uapi/linux/ethtool_netlink.h.
const NO_MASK: u16 = 1;
const BITS: u16 = 3;
const BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// The names of the bits that are set, of a set in the verbose form: with a mask it lists the bits of the mask and marks those that are
/// set, without one it lists those that are set.
pub(super) fn names_of_bits_set(set: &[u8]) -> Option<Vec<String>> {
    let set = attributes(set);
    let lists_bits_set = set.contains_key(&NO_MASK);
    let bits = attribute_list(set.get(&BITS)?).filter(|(kind, _)| *kind == BIT);
    let names = bits.filter_map(|(_, bit)| {
        let bit = attributes(bit);
        let is_set = lists_bits_set || bit.contains_key(&BIT_VALUE);
        is_set.then(|| bit.get(&BIT_NAME).map(|name| text(name)))?
    });
    Some(names.collect())
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
        let masked = names_of_bits_set(&verbose(true, &bits));
        assert_eq!(masked.unwrap(), ["10baseT/Half", "MII"]);
        let unmasked = names_of_bits_set(&verbose(false, &bits.map(|(name, _)| (name, false))));
        assert_eq!(unmasked.unwrap(), ["10baseT/Half", "Autoneg", "MII"]);
        assert_eq!(names_of_bits_set(&verbose(true, &[])), Some(Vec::new()));
        assert_eq!(names_of_bits_set(&[]), None);
    }

    proptest! {
        #[test]
        fn a_set_that_is_cut_or_changed_has_no_more_names(cut in 0_usize..120, at in 0_usize..120, byte in any::<u8>()) {
            let mut set = verbose(true, &[("100baseT/Half", true), ("100baseT/Full", true)]);
            let cut = cut.min(set.len());
            prop_assert!(names_of_bits_set(&set[..cut]).is_none_or(|names| names.len() <= 2));
            let at = at % set.len();
            set[at] = byte;
            prop_assert!(names_of_bits_set(&set).is_none_or(|names| names.len() <= set.len() / 4));
        }
    }
}
