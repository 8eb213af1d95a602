//! A token bucket between two ends, from trains that outlast it.

use super::channel::TrainChannel;
use super::trains::{LongTrains, Trains};
use crate::narrow_capacity::TrainsEstimate;
use crate::rate_estimate::{Confidence, RateEstimate};
use caudal_core::path::TokenBucketKind;
use caudal_core::units::{BitRate, ByteCount};

/// Trains per length.
const TRAINS: u32 = 3;
/// Growth of trains from one length to the next.
const GROWTH: u32 = 4;
/// Maximum datagrams per train.
const MAX_DATAGRAMS: u32 = 2000;
/// Maximum duration of a train at the rate of the path, ns.
const MAX_TRAIN_NS: f64 = 1e9;
/// Minimum length of a train, in buckets, for its tail to show a rate.
const BUCKETS: u64 = 4;
/// Maximum relative half-width of a shaper's rate for trains to agree.
const AGREES: f64 = 0.05;

/// A token bucket in the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShaperReading {
    /// What it does to packets for which it has no tokens.
    pub kind: TokenBucketKind,
    /// The rate that it sustains, frames on the wire.
    pub rate: RateEstimate,
    /// What passes at once, on the wire.
    pub bucket: ByteCount,
}

impl ShaperReading {
    /// Confidence in this estimate: several trains agree, or not.
    pub(super) fn confidence(&self) -> Confidence {
        match self.rate.relative_half_width() {
            Some(width) if width <= AGREES && self.rate.readings >= 3 => Confidence::High,
            Some(width) if width <= 2.0 * AGREES => Confidence::Medium,
            _ => Confidence::Low,
        }
    }
}

/// What long trains show.
pub(super) struct FoundShaper {
    pub(super) shaper: Option<ShaperReading>,
    /// The longest train, on the wire.
    pub(super) longest_train: ByteCount,
    /// The rate at which the longest trains arrived that show no bucket; `None` where none does.
    pub(super) without_bucket: Option<RateEstimate>,
}

/// Looks for a token bucket with trains that become longer as far as the path carries them in a second.
///
/// A first set with a knee is confirmed by one that is long enough for a rate behind it.
pub(super) fn find_shaper<C: TrainChannel>(
    trains: &mut Trains<'_, C>,
    first: &LongTrains,
    rough: BitRate,
) -> Result<FoundShaper, C::Error> {
    let length = trains.settings.max_payload();
    let wire = u64::from(trains.settings.wire_bytes(length));
    let fit = |datagrams: u32| trains.settings.train_datagrams(length, datagrams);
    let in_time = rough
        .gap_ns(wire)
        .map_or(0.0, |gap_ns| MAX_TRAIN_NS / gap_ns);
    let max = fit(MAX_DATAGRAMS.min(in_time as u32));
    let mut datagrams = fit(first.datagrams);
    let mut estimate = first.estimate.clone();
    let mut kind = first.bucket_kind;
    let mut without_bucket = None;
    loop {
        if let Ok(TrainsEstimate {
            rate, bucket: None, ..
        }) = &estimate
        {
            without_bucket = Some(*rate);
        }
        let bucket = match &estimate {
            Ok(found) => found.bucket.map(|bucket| (found.rate, bucket)),
            Err(_) => None,
        };
        let held = wire * u64::from(datagrams);
        if let Some((rate, bucket)) = bucket
            && (held >= BUCKETS * bucket.get() || datagrams >= max)
        {
            return Ok(FoundShaper {
                shaper: Some(ShaperReading { kind, rate, bucket }),
                longest_train: ByteCount::new(held),
                without_bucket,
            });
        }
        if datagrams >= max || trains.channel.is_stopped() {
            return Ok(FoundShaper {
                shaper: None,
                longest_train: ByteCount::new(held),
                without_bucket,
            });
        }
        let wanted = match bucket {
            Some((_, bucket)) => (BUCKETS * bucket.get()).div_ceil(wire) as u32,
            None => datagrams * GROWTH,
        };
        datagrams = wanted.clamp(datagrams + 1, max);
        let rate = estimate.as_ref().map_or(rough, |found| found.rate.rate);
        let longer = trains.back_to_back(TRAINS, datagrams, Some(rate))?;
        (estimate, kind) = (longer.estimate, longer.bucket_kind);
    }
}
