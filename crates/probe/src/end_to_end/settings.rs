//! What trains may be like between two ends.

use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The bytes of an Ethernet frame on the wire besides the IP packet: preamble, header, check sequence and interframe gap.
pub const FRAMING_BYTES: u32 = 38;
/// Smallest frame on the wire, bytes (IEEE 802.3).
const MIN_WIRE_BYTES: u32 = 84;
/// Minimum payload of a datagram, bytes: its header.
const MIN_PAYLOAD: u32 = 32;

/// What trains may be like between two ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndToEndSettings {
    /// The largest packet that crosses the path whole, IP header included, bytes.
    pub packet_bytes: u32,
    /// The bytes of the IP and the UDP header.
    pub header_bytes: u32,
    /// The round-trip time without load, as far as it is known.
    pub rtt: Duration,
    /// `true` when both ends read one clock, so that none drifts.
    pub one_clock: bool,
    /// The maximum payload rate that the other end allows.
    pub max_rate: Option<BitRate>,
    /// The maximum payload of a train that is faster than that.
    pub max_burst: Option<ByteCount>,
    /// The maximum payload of a series that the other end allows.
    pub max_bytes: Option<ByteCount>,
    /// The maximum duration of a series that the other end allows.
    pub max_time: Option<Duration>,
    /// The confidence of intervals, from 0 to 1.
    pub confidence: f64,
    /// The seed of random gaps.
    pub seed: u64,
}

impl EndToEndSettings {
    /// The usual settings for packets of this size over IPv4.
    #[must_use]
    pub const fn new(packet_bytes: u32, seed: u64) -> Self {
        Self {
            packet_bytes,
            header_bytes: 28,
            rtt: Duration::ZERO,
            one_clock: false,
            max_rate: None,
            max_burst: None,
            max_bytes: None,
            max_time: None,
            confidence: 0.95,
            seed,
        }
    }

    /// The largest payload of a datagram, bytes.
    #[must_use]
    pub fn max_payload(&self) -> u32 {
        self.packet_bytes
            .saturating_sub(self.header_bytes)
            .max(MIN_PAYLOAD)
    }

    /// The smallest payload of a datagram, bytes.
    #[must_use]
    pub const fn min_payload(&self) -> u32 {
        MIN_PAYLOAD
    }

    /// The bytes on the wire of a datagram with this payload.
    #[must_use]
    pub fn wire_bytes(&self, payload: u32) -> u32 {
        (payload + self.header_bytes + FRAMING_BYTES).max(MIN_WIRE_BYTES)
    }

    /// The rate on the wire of datagrams of this payload that carry `rate` of payload.
    #[must_use]
    pub fn wire_rate(&self, rate: BitRate, payload: u32) -> BitRate {
        let factor = f64::from(self.wire_bytes(payload)) / f64::from(payload.max(1));
        BitRate::from_f64(rate.as_f64() * factor).unwrap_or(rate)
    }

    /// The datagrams of `payload` that one train may have back to back, no more than `wanted`.
    #[must_use]
    pub fn train_datagrams(&self, payload: u32, wanted: u32) -> u32 {
        let bytes = [self.max_burst, self.max_bytes];
        let max = bytes.iter().flatten().map(|bytes| bytes.get()).min();
        let fit = max.map_or(u64::from(wanted), |max| max / u64::from(payload.max(1)));
        u32::try_from(fit).unwrap_or(u32::MAX).min(wanted)
    }

    /// The shortest time between two trains of so much payload, ns: that which keeps the mean within the rate of the other end.
    #[must_use]
    pub fn min_period_ns(&self, train_payload: u64) -> u64 {
        let Some(max) = self.max_rate.filter(|max| max.bps() > 0) else {
            return 0;
        };
        // A little slower: times are rounded, and the check of the other end is exact.
        let bits = u128::from(train_payload) * 8_010_000_000;
        u64::try_from(bits / u128::from(max.bps())).unwrap_or(u64::MAX)
    }

    /// The trains of so much payload that a series may have, no more than `wanted`, when each takes `period_ns`.
    #[must_use]
    pub fn series_trains(&self, train_payload: u64, period_ns: u64, wanted: u32) -> u32 {
        let by_bytes = self
            .max_bytes
            .map_or(u64::MAX, |max| max.get() / train_payload.max(1));
        let by_time = self.max_time.map_or(u64::MAX, |max| {
            u64::try_from(max.as_nanos()).unwrap_or(u64::MAX) / period_ns.max(1)
        });
        let fit = by_bytes.min(by_time);
        u32::try_from(fit).unwrap_or(u32::MAX).min(wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_packets_are_1538_bytes_on_the_wire_and_small_ones_at_least_84() {
        let settings = EndToEndSettings::new(1500, 1);
        assert_eq!(settings.max_payload(), 1472);
        assert_eq!(settings.wire_bytes(1472), 1538);
        assert_eq!(settings.wire_bytes(1), 84);
        assert_eq!(
            settings.wire_rate(BitRate::from_bps(1_472_000), 1472),
            BitRate::from_bps(1_538_000)
        );
        assert_eq!(EndToEndSettings::new(20, 1).max_payload(), 32);
    }

    #[test]
    fn trains_keep_to_what_the_other_end_allows() {
        let limited = EndToEndSettings {
            max_rate: Some(BitRate::from_bps(8_000_000)),
            max_burst: Some(ByteCount::new(65_536)),
            max_bytes: Some(ByteCount::new(1_000_000)),
            max_time: Some(Duration::from_secs(1)),
            ..EndToEndSettings::new(1500, 1)
        };
        assert_eq!(limited.train_datagrams(1472, 1000), 44);
        assert_eq!(limited.train_datagrams(1472, 2), 2);
        assert_eq!(limited.min_period_ns(2000), 2_002_500);
        assert_eq!(limited.series_trains(2000, 2_002_500, 1000), 499);
        assert_eq!(limited.series_trains(100_000, 1, 1000), 10);
        let free = EndToEndSettings::new(1500, 1);
        assert_eq!(free.train_datagrams(1472, 1000), 1000);
        assert_eq!(free.min_period_ns(u64::MAX), 0);
        assert_eq!(free.series_trains(1, 1, 7), 7);
    }
}
