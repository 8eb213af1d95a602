//! The number of packets between the two whose distance is read.

/// Minimum ratio of the dispersion of a bulk to the noise of the timestamps.
const MIN_NOISE_RATIO: f64 = 100.0;
/// Maximum packets per bulk.
const MAX_PACKETS: u32 = 1000;

/// The packets of a bulk whose dispersion is a hundred times the noise of the timestamps, from one pair's dispersion; at most a thousand.
///
/// On fast links the dispersion of a pair drowns in the noise of the timestamps; that of the first and the last packet of a bulk
/// of k + 1 is k times as long. `None` for a dispersion of zero. Source: Chen, Sun, Wang, Sanadidi and Gerla, "PBProbe: A Capacity
/// Estimation Tool for High Speed Networks", 2008.
#[must_use]
pub fn bulk_packets(pair_dispersion_ns: u64, noise_ns: u64) -> Option<u32> {
    if pair_dispersion_ns == 0 {
        return None;
    }
    let packets = (MIN_NOISE_RATIO * noise_ns as f64 / pair_dispersion_ns as f64).ceil();
    Some(packets.clamp(1.0, f64::from(MAX_PACKETS)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_the_link_the_longer_the_bulk() {
        // 1538 bytes at 10 Mbit/s, 1 and 10 Gbit/s, and timestamps with 1 µs of noise.
        let packets = [1_230_400, 12_304, 1230].map(|ns| bulk_packets(ns, 1000));
        assert_eq!(packets, [Some(1), Some(9), Some(82)]);
        assert_eq!(bulk_packets(0, 1000), None);
        assert_eq!(bulk_packets(1, u64::MAX), Some(1000));
    }
}
