//! The packets of a stream of a given rate.

use crate::cannot_tell::CannotTell;
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// Packets per stream, as in pathload.
const PACKETS: u32 = 100;
/// Maximum packets per stream.
const MAX_PACKETS: u32 = 5000;
/// Minimum excess of a stream over a token bucket, in buckets.
const BUCKETS: f64 = 2.0;

/// The packets of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamShape {
    /// How many there are.
    pub packets: u32,
    /// The size of each on the wire, bytes.
    pub bytes: u32,
    /// The time from one to the next.
    pub spacing: Duration,
}

impl StreamShape {
    /// The stream of `rate` in packets of `bytes`, long enough to overflow a bucket of that size on a path with `available` left.
    ///
    /// Behind a token bucket a stream above the available bandwidth shows no trend until the bucket is spent, so what it brings in
    /// excess, its bytes times `1 - available / rate`, has to be twice the bucket.
    ///
    /// # Errors
    /// When the rate or the size is zero, or the bucket would take more than 5000 packets.
    pub fn new(
        rate: BitRate,
        bytes: u32,
        available: BitRate,
        bucket: ByteCount,
    ) -> Result<Self, CannotTell> {
        let spacing_ns = rate.gap_ns(u64::from(bytes)).filter(|gap| *gap >= 1.0);
        let spacing_ns = spacing_ns.ok_or(CannotTell::Implausible(
            "a stream takes packets and a rate above zero",
        ))?;
        let excess = 1.0 - available.as_f64() / rate.as_f64();
        let needed = BUCKETS * bucket.as_f64() / (f64::from(bytes) * excess.max(0.0));
        // Without a bucket, or below the available bandwidth where nothing overflows, the usual length does.
        let packets = if bucket.get() == 0 || excess <= 0.0 {
            f64::from(PACKETS)
        } else {
            needed.ceil().max(f64::from(PACKETS))
        };
        if packets > f64::from(MAX_PACKETS) {
            return Err(CannotTell::TrainTooShort {
                train_bytes: u64::from(MAX_PACKETS) * u64::from(bytes),
            });
        }
        Ok(Self {
            packets: packets as u32,
            bytes,
            spacing: Duration::from_nanos(spacing_ns as u64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_outlasts_the_bucket() {
        let mbps = |mbps: u64| BitRate::from_bps(mbps * 1_000_000);
        let shape = |bucket| StreamShape::new(mbps(8), 1500, mbps(6), ByteCount::new(bucket));
        assert_eq!(shape(0).unwrap().packets, 100);
        assert_eq!(shape(0).unwrap().spacing, Duration::from_micros(1500));
        // A quarter of 40 packets' 60 000 bytes is the bucket of 15 000; twice that takes 80, so 100 do.
        assert_eq!(shape(15_000).unwrap().packets, 100);
        assert_eq!(shape(60_000).unwrap().packets, 320);
        assert!(shape(10_000_000).is_err());
        assert!(StreamShape::new(BitRate::ZERO, 1500, mbps(1), ByteCount::ZERO).is_err());
        assert!(StreamShape::new(mbps(1), 0, mbps(1), ByteCount::ZERO).is_err());
    }
}
