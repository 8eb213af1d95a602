//! The limits of a congestion window, and the pacing rate that follows from it.

use crate::config::DATA_HEADER_BYTES;

/// The datagram for which constants that standards give in segments are meant, whatever the size of the packets: the payload of a
/// TCP segment with timestamps on Ethernet. Windows grow by bytes, so small packets have no disadvantage.
pub(super) const NOMINAL_DATAGRAM_BYTES: u64 = 1448;
/// Maximum congestion window, so that products of windows fit into 128 bits with room to spare.
pub(super) const MAX_CONGESTION_WINDOW: u64 = 1 << 40;

/// Nanoseconds in a second.
pub(super) const NS_PER_S: u64 = 1_000_000_000;

/// The limits of a congestion window, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WindowLimits {
    /// The window of a new session: 10 nominal datagrams (RFC 6928, RFC 9002 section 7.2).
    pub initial: u64,
    /// The minimum: 2 datagrams, nominal ones when they are larger (RFC 9002 section 7.2).
    pub min: u64,
}

impl WindowLimits {
    /// The limits for datagrams with `packet_bytes` of payload.
    pub fn new(packet_bytes: u32) -> Self {
        let datagram = datagram_bytes(packet_bytes);
        let min = 2 * datagram.max(NOMINAL_DATAGRAM_BYTES);
        Self {
            initial: min.max(10 * NOMINAL_DATAGRAM_BYTES),
            min,
        }
    }

    /// `window`, within the limits.
    pub fn clamp(&self, window: u64) -> u64 {
        window.clamp(self.min, MAX_CONGESTION_WINDOW)
    }
}

/// The bytes of a datagram with `packet_bytes` of payload, as controllers count them.
pub(super) fn datagram_bytes(packet_bytes: u32) -> u64 {
    u64::from(packet_bytes) + DATA_HEADER_BYTES as u64
}

/// `percent` of a window in each smoothed round-trip time, bytes a second; `None` before there is one.
pub(super) fn window_rate(window: u64, smoothed_rtt_ns: u64, percent: u64) -> Option<u64> {
    let amount = u128::from(window) * u128::from(percent) * u128::from(NS_PER_S / 100);
    let rate = amount.checked_div(u128::from(smoothed_rtt_ns))?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_start_with_the_window_of_large_ones() {
        assert_eq!(WindowLimits::new(100), WindowLimits::new(1400));
        assert_eq!(WindowLimits::new(100).initial, 14_480);
        assert_eq!(WindowLimits::new(100).min, 2896);
    }

    #[test]
    fn a_window_holds_two_datagrams_however_large_they_are() {
        let limits = WindowLimits::new(65_487);
        assert_eq!((limits.min, limits.initial), (131_014, 131_014));
    }

    #[test]
    fn a_rate_is_the_window_in_each_round_trip() {
        assert_eq!(window_rate(100_000, 50_000_000, 100), Some(2_000_000));
        assert_eq!(window_rate(100_000, 50_000_000, 120), Some(2_400_000));
        assert_eq!(window_rate(100_000, 0, 120), None);
        assert_eq!(window_rate(u64::MAX, 1, 200), Some(u64::MAX));
    }
}
