//! The counters that IEEE 802.3 gives a MAC, and some of RMON: `ETHTOOL_MSG_STATS_GET`.

use super::request::{EthtoolNetlink, EthtoolRequest};
use crate::netlink::{attribute_list, attributes, push_attribute, push_nested};
use crate::raw;
use std::collections::BTreeMap;

/// The groups of counters. Source: include/uapi/linux/ethtool_netlink.h.
const MAC: u32 = 1;
const RMON: u32 = 3;

/// The counters of a MAC since its driver was loaded or they were reset, in frames; `None` where the driver has none.
///
/// Source: IEEE 802.3 section 30.3.1.1, whose subsection is the number in the name of the kernel's attribute; RFC 2819 for RMON.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MacCounters {
    /// Frames sent after one collision: `aSingleCollisionFrames`.
    pub single_collision_frames: Option<u64>,
    /// Frames sent after more than one collision: `aMultipleCollisionFrames`.
    pub multiple_collision_frames: Option<u64>,
    /// Frames received with CRC (FCS) errors: `aFrameCheckSequenceErrors`.
    pub frame_check_sequence_errors: Option<u64>,
    /// Frames received that are not whole bytes: `aAlignmentErrors`.
    pub alignment_errors: Option<u64>,
    /// Frames whose sending was first deferred because the medium was busy: `aFramesWithDeferredXmissions`.
    pub deferred_frames: Option<u64>,
    /// Collisions after the first 512 bits of a frame: `aLateCollisions`.
    pub late_collisions: Option<u64>,
    /// Frames not sent after too many collisions: `aFramesAbortedDueToXSColls`.
    pub excessive_collision_frames: Option<u64>,
    /// Frames during which the carrier was lost: `aCarrierSenseErrors`.
    pub carrier_sense_errors: Option<u64>,
    /// Frames received that are shorter than 64 bytes and have CRC (FCS) errors: `etherStatsFragments`.
    pub fragments: Option<u64>,
}

impl EthtoolNetlink {
    /// The counters of the MAC of interface `index`; `None` when the kernel has no such request.
    pub(in crate::interface) fn mac_counters(&self, index: u32) -> Option<MacCounters> {
        const GROUPS: u16 = 3;
        const NO_MASK: u16 = 1;
        const SIZE: u16 = 2;
        const VALUE: u16 = 4;
        // A set in the compact form: the number of bits, then the bits.
        let mut groups = Vec::new();
        push_attribute(&mut groups, NO_MASK, &[]);
        push_attribute(&mut groups, SIZE, &(RMON + 1).to_ne_bytes());
        push_attribute(
            &mut groups,
            VALUE,
            &(1_u32 << MAC | 1 << RMON).to_ne_bytes(),
        );
        let mut more = Vec::new();
        push_nested(&mut more, GROUPS, &groups);
        let reply = self.ask(EthtoolRequest::Statistics, index, &more)?;
        Some(decode(&reply))
    }
}

fn decode(reply: &[u8]) -> MacCounters {
    const GROUP: u16 = 4;
    const GROUP_ID: u16 = 2;
    const COUNTER: u16 = 4;
    let mut found = BTreeMap::new();
    for (_, group) in attribute_list(reply).filter(|(kind, _)| *kind == GROUP) {
        let Some(id) = attributes(group)
            .get(&GROUP_ID)
            .and_then(|id| raw::u32_at(id, 0))
        else {
            continue;
        };
        for (_, counter) in attribute_list(group).filter(|(kind, _)| *kind == COUNTER) {
            let counters = attribute_list(counter);
            found.extend(
                counters.filter_map(|(kind, value)| Some(((id, kind), raw::u64_at(value, 0)?))),
            );
        }
    }
    // The numbers of the counters of a group, `ETHTOOL_A_STATS_ETH_MAC_…` and `ETHTOOL_A_STATS_RMON_…`.
    let mac = |counter: u16| found.get(&(MAC, counter)).copied();
    MacCounters {
        single_collision_frames: mac(1),
        multiple_collision_frames: mac(2),
        frame_check_sequence_errors: mac(4),
        alignment_errors: mac(5),
        deferred_frames: mac(7),
        late_collisions: mac(8),
        excessive_collision_frames: mac(9),
        carrier_sense_errors: mac(11),
        fragments: found.get(&(RMON, 2)).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn group(id: u32, counters: &[(u16, u64)]) -> Vec<u8> {
        let mut group = Vec::new();
        push_attribute(&mut group, 2, &id.to_ne_bytes());
        push_attribute(&mut group, 3, &17_u32.to_ne_bytes());
        for (kind, value) in counters {
            let mut counter = Vec::new();
            push_attribute(&mut counter, *kind, &value.to_ne_bytes());
            push_nested(&mut group, 4, &counter);
        }
        // A histogram, which RMON has of the lengths of frames.
        push_nested(&mut group, 5, &[]);
        group
    }

    fn reply() -> Vec<u8> {
        let mut reply = Vec::new();
        push_nested(&mut reply, 2, &[]);
        let counters: Vec<(u16, u64)> = (0..22).map(|kind| (kind, u64::from(kind) + 100)).collect();
        push_nested(&mut reply, 4, &group(MAC, &counters));
        push_nested(&mut reply, 4, &group(RMON, &[(0, 1), (2, 7)]));
        reply
    }

    #[test]
    fn counters_are_found_by_their_group_and_number() {
        let expected = MacCounters {
            single_collision_frames: Some(101),
            multiple_collision_frames: Some(102),
            frame_check_sequence_errors: Some(104),
            alignment_errors: Some(105),
            deferred_frames: Some(107),
            late_collisions: Some(108),
            excessive_collision_frames: Some(109),
            carrier_sense_errors: Some(111),
            fragments: Some(7),
        };
        assert_eq!(decode(&reply()), expected);
    }

    #[test]
    fn counters_that_a_driver_does_not_set_are_none() {
        let mut reply = Vec::new();
        push_nested(&mut reply, 4, &group(MAC, &[(8, 3)]));
        let expected = MacCounters {
            late_collisions: Some(3),
            ..MacCounters::default()
        };
        assert_eq!(decode(&reply), expected);
        assert_eq!(decode(&[]), MacCounters::default());
    }

    proptest! {
        #[test]
        fn a_reply_that_is_cut_or_changed_is_read_as_far_as_it_goes(cut in 0_usize..600, at in any::<usize>(), byte in any::<u8>()) {
            let mut reply = reply();
            let counters = decode(&reply[..cut.min(reply.len())]);
            prop_assert!(counters.late_collisions.is_none_or(|late| late == 108));
            let at = at % reply.len();
            reply[at] = byte;
            let _ = decode(&reply);
        }
    }
}
