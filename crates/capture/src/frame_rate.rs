//! The rate of payload in frames.

use caudal_core::units::BitRate;

/// Minimum frames to report a rate: fewer say more about their spacing.
const MIN_FRAMES: u64 = 20;

/// The rate of `bytes` in `frames` frames, the first and the last of which lie `ns` apart: between n frames lie n - 1 gaps, so the payload
/// of one of them, the mean, is left out. `None` for fewer than 20 frames.
pub(crate) fn rate_of_frames(bytes: u64, frames: u64, ns: u64) -> Option<BitRate> {
    if frames < MIN_FRAMES || ns == 0 {
        return None;
    }
    let of_gaps = bytes as f64 * (frames - 1) as f64 / frames as f64;
    BitRate::from_f64(of_gaps * 8e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_at_a_constant_distance_have_the_rate_of_their_distance() {
        // 1250 bytes every 100 µs: 100 Mbit/s.
        for frames in [20, 21, 1000] {
            let rate = rate_of_frames(frames * 1250, frames, (frames - 1) * 100_000);
            assert_eq!(rate, Some(BitRate::from_bps(100_000_000)));
        }
    }

    #[test]
    fn a_few_frames_have_no_rate() {
        assert_eq!(rate_of_frames(2048, 2, 47_000), None);
        assert_eq!(rate_of_frames(20 * 1250, 20, 0), None);
    }
}
