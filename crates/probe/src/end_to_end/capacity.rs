//! The capacity of the narrow link between two ends, and a shaper in the way.

use super::channel::TrainChannel;
use super::narrow_reading::{CapacityMethod, NarrowReading};
use super::settings::EndToEndSettings;
use super::shaper::{ShaperReading, find_shaper};
use super::trains::{LongTrains, Trains};
use crate::cannot_tell::CannotTell;
use crate::narrow_capacity::TrainsEstimate;
use crate::rate_estimate::{Confidence, RateEstimate};
use caudal_core::path::TokenBucketKind;
use caudal_core::plan::Direction;
use caudal_core::units::{BitRate, ByteCount};

/// Minimum bucket, in packets, that shows: one of a single packet lets pairs through at its rate as well.
const SMALLEST_BUCKET: u64 = 2;
/// Maximum rate that can be estimated: a full packet takes 6 µs there, and kernels stamp and hand over packets in groups that take longer.
const MAX_TOLD_BPS: u64 = 2_000_000_000;
/// Share of the sender's own rate at and above which the arrival of trains shows the sender, not the path.
const OF_SENDER: f64 = 0.6;
/// Share of the rate of the first trains, which hosts limit, below which the rate of longer ones shows a shaper.
const OF_HOSTS: f64 = 0.3;
/// Minimum ratio of the rate of a line to that of the shaper on it: short trains through a bucket give less.
const MIN_LINE: f64 = 2.0;
/// Maximum relative half-width of a shaper's rate: beyond it trains do not agree on one.
const MAX_SHAPER_WIDTH: f64 = 0.25;

/// The capacity of one direction between two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct EndToEndCapacity {
    /// The capacity of the narrow link, frames on the wire; or why it is not known.
    ///
    /// Its interval is a bound from the noise of the times, not a confidence interval.
    pub narrow: Result<RateEstimate, CannotTell>,
    /// What it was read from.
    pub method: CapacityMethod,
    /// The capacity by another size of packet, or by shorter bulks, which agrees.
    pub confirmed_by: Option<RateEstimate>,
    /// The rate at which trains arrived: between the available bandwidth and the capacity where other traffic crosses.
    pub dispersion: Option<RateEstimate>,
    /// The shaper in the way, where trains show one.
    pub shaper: Option<ShaperReading>,
    /// The longest train: a shaper whose bucket holds more does not show.
    pub longest_train: ByteCount,
    /// The confidence in it.
    pub confidence: Confidence,
    /// Why, in one sentence.
    pub reason: String,
}

impl EndToEndCapacity {
    /// The minimum rate that the path carries, where it is too fast for an estimate.
    #[must_use]
    pub fn at_least(&self) -> Option<BitRate> {
        match (&self.shaper, &self.narrow) {
            (None, Err(CannotTell::TooFast { at_least })) => Some(*at_least),
            _ => None,
        }
    }

    /// The rate that the path sustains: that of the shaper where there is one, else the capacity.
    #[must_use]
    pub fn sustained(&self) -> Option<RateEstimate> {
        match &self.shaper {
            Some(shaper) => Some(shaper.rate),
            None => self.narrow.as_ref().ok().copied(),
        }
    }

    /// Measures the capacity of a direction.
    ///
    /// # Errors
    /// Those of the channel.
    pub fn measure<C: TrainChannel>(
        channel: &mut C,
        direction: Direction,
        settings: &EndToEndSettings,
    ) -> Result<Self, C::Error> {
        let mut trains = Trains {
            channel,
            direction,
            settings,
        };
        let first = trains.first()?;
        let arrived = match &first.estimate {
            Ok(found) => found.rate,
            Err(cause) => return Ok(Self::unknown(cause.clone())),
        };
        let too_fast = too_fast(&first, &arrived);
        let narrow = match &too_fast {
            Some(cause) => NarrowReading::unknown(cause.clone()),
            None => trains
                .narrow(&arrived, first.is_bunched)?
                .within(MAX_TOLD_BPS, &arrived),
        };
        let is_fast = matches!(narrow.capacity, Err(CannotTell::TooFast { .. }));
        let found = find_shaper(&mut trains, &first, arrived.rate)?;
        // The head of a train that other traffic thins out passes for a bucket of a packet.
        let wire = u64::from(settings.wire_bytes(settings.max_payload()));
        let smallest = wire * SMALLEST_BUCKET;
        let shaper = found.shaper.filter(|shaper| {
            shaper.bucket.get() >= smallest && is_credible(shaper, is_fast.then_some(&arrived))
        });
        let narrow = match &shaper {
            Some(shaper) => narrow.before_shaper(shaper, wire, MIN_LINE),
            None if first.is_bunched => narrow.or_trains(found.without_bucket.as_ref()),
            None => narrow,
        };
        Ok(Self::from_parts(
            narrow,
            first.estimate.ok(),
            shaper,
            found.longest_train,
        ))
    }

    /// The capacity of a direction as trains show it in a second or two: too low where other traffic crosses.
    ///
    /// # Errors
    /// Those of the channel.
    pub fn roughly<C: TrainChannel>(
        channel: &mut C,
        direction: Direction,
        settings: &EndToEndSettings,
    ) -> Result<Self, C::Error> {
        let mut trains = Trains {
            channel,
            direction,
            settings,
        };
        let first = trains.first()?;
        let found = match &first.estimate {
            Ok(found) => found.clone(),
            Err(cause) => return Ok(Self::unknown(cause.clone())),
        };
        let wire = u64::from(settings.wire_bytes(settings.max_payload()));
        if let Some(cause) = too_fast(&first, &found.rate) {
            return Ok(Self::unknown(cause));
        }
        Ok(Self {
            narrow: Ok(found.rate),
            method: CapacityMethod::Trains,
            confirmed_by: None,
            dispersion: None,
            shaper: found.bucket.map(|bucket| ShaperReading {
                kind: first.bucket_kind,
                rate: found.rate,
                bucket,
            }),
            longest_train: ByteCount::new(wire * u64::from(first.datagrams)),
            confidence: Confidence::Low,
            reason: format!(
                "trains of {} packets arrive at {}, which is less than the capacity beside other traffic",
                first.datagrams, found.rate.rate
            ),
        })
    }

    /// A capacity of which nothing is known.
    fn unknown(cause: CannotTell) -> Self {
        Self {
            reason: format!("cannot tell, because {cause}"),
            narrow: Err(cause),
            method: CapacityMethod::Pairs,
            confirmed_by: None,
            dispersion: None,
            shaper: None,
            longest_train: ByteCount::ZERO,
            confidence: Confidence::Low,
        }
    }

    fn from_parts(
        narrow: NarrowReading,
        first: Option<TrainsEstimate>,
        shaper: Option<ShaperReading>,
        longest_train: ByteCount,
    ) -> Self {
        let dispersion = first.map(|found| found.rate).filter(|_| shaper.is_none());
        let (confidence, reason) = match (&shaper, &narrow.capacity) {
            (Some(shaper), _) => (
                shaper.confidence(),
                format!(
                    "trains arrive at once up to {} and at {} from then on: {}",
                    shaper.bucket,
                    shaper.rate.rate,
                    match shaper.kind {
                        TokenBucketKind::Shaper => "a token bucket",
                        TokenBucketKind::Policer =>
                            "a policer, as the rest is lost and what arrives is not delayed",
                    }
                ),
            ),
            (None, Ok(found)) => narrow.judged(found, dispersion.as_ref()),
            (None, Err(cause)) => (Confidence::Low, format!("cannot tell, because {cause}")),
        };
        Self {
            narrow: narrow.capacity.clone().map(|found| found.capacity),
            method: narrow.method,
            confirmed_by: narrow.capacity.ok().and_then(|found| found.confirmed_by),
            dispersion,
            shaper,
            longest_train,
            confidence,
            reason,
        }
    }
}

/// Why trains show no capacity, where they arrive as fast as their sender's kernel took them, or faster than hosts can measure.
fn too_fast(first: &LongTrains, arrived: &RateEstimate) -> Option<CannotTell> {
    let is_senders = |departure: BitRate| arrived.rate.as_f64() >= OF_SENDER * departure.as_f64();
    let is_too_fast = arrived.rate.bps() > MAX_TOLD_BPS || first.departure.is_some_and(is_senders);
    is_too_fast.then_some(CannotTell::TooFast {
        at_least: arrived.low,
    })
}

/// `true` for a shaper on whose rate trains agree, and which is not that of hosts: a full buffer slows a program down as a shaper does,
/// where the path is about as fast as the program. `too_fast` are first trains on a path faster than hosts.
fn is_credible(shaper: &ShaperReading, too_fast: Option<&RateEstimate>) -> bool {
    let rate = shaper.rate.rate;
    let is_hosts = too_fast.is_some_and(|first| rate.as_f64() > OF_HOSTS * first.rate.as_f64());
    let width = shaper.rate.relative_half_width();
    width.is_some_and(|width| width <= MAX_SHAPER_WIDTH) && rate.bps() <= MAX_TOLD_BPS && !is_hosts
}
