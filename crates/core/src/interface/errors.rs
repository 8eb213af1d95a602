//! The counters of an interface.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The counters of an interface, of errors and of what they are to be compared with. They only grow, from a time that is not known; those
/// that kernel or driver do not report are absent.
///
/// The kernel's own are those of `ip -s -s link` (`struct rtnl_link_stats64`, include/uapi/linux/if_link.h). Those of IEEE 802.3 are
/// those of `ethtool -S … --groups eth-mac rmon`: drivers for which the kernel has them count one event in both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LinkErrors {
    /// Packets received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_packets: Option<u64>,
    /// Bytes received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_bytes: Option<u64>,
    /// Packets received with an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_errors: Option<u64>,
    /// Packets received and dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_dropped: Option<u64>,
    /// Frames received with a length that is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_length_errors: Option<u64>,
    /// Frames received with CRC (FCS) errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_crc_errors: Option<u64>,
    /// Frames received that are not whole bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rx_frame_errors: Option<u64>,
    /// Packets sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_packets: Option<u64>,
    /// Bytes sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_bytes: Option<u64>,
    /// Packets not sent because of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_errors: Option<u64>,
    /// Packets dropped before they were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_dropped: Option<u64>,
    /// Collisions while sending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<u64>,
    /// Frames not sent after too many collisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_aborted_errors: Option<u64>,
    /// Frames during which the carrier was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_carrier_errors: Option<u64>,
    /// Late collisions, as the kernel counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_window_errors: Option<u64>,
    /// Frames sent after one collision: `aSingleCollisionFrames`, IEEE 802.3 section 30.3.1.1.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single_collision_frames: Option<u64>,
    /// Frames sent after more than one collision: `aMultipleCollisionFrames`, IEEE 802.3 section 30.3.1.1.4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_collision_frames: Option<u64>,
    /// Frames received with CRC (FCS) errors: `aFrameCheckSequenceErrors`, IEEE 802.3 section 30.3.1.1.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_check_sequence_errors: Option<u64>,
    /// Frames received that are not whole bytes: `aAlignmentErrors`, IEEE 802.3 section 30.3.1.1.7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alignment_errors: Option<u64>,
    /// Frames that were deferred because the medium was busy: `aFramesWithDeferredXmissions`, IEEE 802.3 section 30.3.1.1.9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_frames: Option<u64>,
    /// Collisions after the first 512 bits of a frame: `aLateCollisions`, IEEE 802.3 section 30.3.1.1.10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_collisions: Option<u64>,
    /// Frames not sent after too many collisions: `aFramesAbortedDueToXSColls`, IEEE 802.3 section 30.3.1.1.11.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excessive_collision_frames: Option<u64>,
    /// Frames during which the carrier was lost: `aCarrierSenseErrors`, IEEE 802.3 section 30.3.1.1.13.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_errors: Option<u64>,
    /// Frames received that are shorter than 64 bytes and have CRC (FCS) errors: `etherStatsFragments`, RFC 2819.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fragments: Option<u64>,
}

impl LinkErrors {
    /// What the counters grew by since an `earlier` reading; `None` for those that one of the two lacks, and for those that fell, as they
    /// do when a driver is loaded anew.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.combined(earlier, u64::checked_sub)
    }

    /// What the counters grew by over two times; `None` for those that one of the two lacks.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.combined(other, u64::checked_add)
    }

    fn combined(&self, other: &Self, operation: fn(u64, u64) -> Option<u64>) -> Self {
        let each = |counter: fn(&Self) -> Option<u64>| operation(counter(self)?, counter(other)?);
        Self {
            rx_packets: each(|all| all.rx_packets),
            rx_bytes: each(|all| all.rx_bytes),
            rx_errors: each(|all| all.rx_errors),
            rx_dropped: each(|all| all.rx_dropped),
            rx_length_errors: each(|all| all.rx_length_errors),
            rx_crc_errors: each(|all| all.rx_crc_errors),
            rx_frame_errors: each(|all| all.rx_frame_errors),
            tx_packets: each(|all| all.tx_packets),
            tx_bytes: each(|all| all.tx_bytes),
            tx_errors: each(|all| all.tx_errors),
            tx_dropped: each(|all| all.tx_dropped),
            collisions: each(|all| all.collisions),
            tx_aborted_errors: each(|all| all.tx_aborted_errors),
            tx_carrier_errors: each(|all| all.tx_carrier_errors),
            tx_window_errors: each(|all| all.tx_window_errors),
            single_collision_frames: each(|all| all.single_collision_frames),
            multiple_collision_frames: each(|all| all.multiple_collision_frames),
            frame_check_sequence_errors: each(|all| all.frame_check_sequence_errors),
            alignment_errors: each(|all| all.alignment_errors),
            deferred_frames: each(|all| all.deferred_frames),
            late_collisions: each(|all| all.late_collisions),
            excessive_collision_frames: each(|all| all.excessive_collision_frames),
            carrier_sense_errors: each(|all| all.carrier_sense_errors),
            fragments: each(|all| all.fragments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value};

    /// Counters of which each has another value, from `first` on.
    fn counters(first: u64, step: u64) -> LinkErrors {
        let keys = schemars::schema_for!(LinkErrors);
        let keys = keys.get("properties").unwrap().as_object().unwrap();
        let values = (0_u64..).map(|at| Value::from(first + at * step));
        let document: Map<String, Value> = keys.keys().cloned().zip(values).collect();
        serde_json::from_value(Value::Object(document)).unwrap()
    }

    #[test]
    fn every_counter_grows_by_its_own_difference() {
        let grown = counters(1000, 17).since(&counters(1, 10));
        assert_eq!(grown, counters(999, 7));
        assert_eq!(
            serde_json::to_value(grown)
                .unwrap()
                .as_object()
                .unwrap()
                .len(),
            24
        );
    }

    #[test]
    fn growth_over_two_times_adds_up() {
        let sum = counters(999, 7).plus(&counters(1, 10));
        assert_eq!(sum, counters(1000, 17));
        assert_eq!(sum.plus(&LinkErrors::default()), LinkErrors::default());
    }

    #[test]
    fn a_counter_that_fell_or_is_missing_is_unknown() {
        let earlier = LinkErrors {
            rx_packets: Some(10),
            late_collisions: Some(5),
            fragments: Some(1),
            ..LinkErrors::default()
        };
        let later = LinkErrors {
            rx_packets: Some(10),
            late_collisions: Some(4),
            collisions: Some(9),
            ..LinkErrors::default()
        };
        let expected = LinkErrors {
            rx_packets: Some(0),
            ..LinkErrors::default()
        };
        assert_eq!(later.since(&earlier), expected);
        assert_eq!(
            serde_json::to_string(&expected).unwrap(),
            r#"{"rx_packets":0}"#
        );
    }
}
