//! The capacity of the narrow link between two ends, and a shaper in the way.

use super::channel::TrainChannel;
use super::narrow_reading::{CapacityMethod, NarrowReading};
use super::settings::EndToEndSettings;
use super::shaper::{ShaperReading, find_shaper};
use super::trains::Trains;
use crate::cannot_tell::CannotTell;
use crate::confidence::Confidence;
use crate::narrow_capacity::TrainsEstimate;
use crate::rate_estimate::RateEstimate;
use caudal_core::plan::Direction;
use caudal_core::units::ByteCount;

/// The packets that a bucket holds at least to be told from none: one of a single packet lets pairs through at its rate as well.
const SMALLEST_BUCKET: u64 = 2;

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
        let narrow = trains.narrow(&arrived)?;
        let found = find_shaper(&mut trains, &first, arrived.rate)?;
        // The head of a train that other traffic thins out passes for a bucket of a packet.
        let smallest = u64::from(settings.wire_bytes(settings.max_payload())) * SMALLEST_BUCKET;
        let shaper = found
            .shaper
            .filter(|shaper| shaper.bucket.get() >= smallest);
        Ok(Self::from_parts(
            narrow,
            first.estimate.ok(),
            shaper,
            found.longest_train,
        ))
    }

    /// The capacity of a direction as far as trains tell it in a second or two: less than it is where other traffic crosses.
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
        let found = match first.estimate {
            Ok(found) => found,
            Err(cause) => return Ok(Self::unknown(cause)),
        };
        let wire = u64::from(settings.wire_bytes(settings.max_payload()));
        Ok(Self {
            narrow: Ok(found.rate),
            method: CapacityMethod::Trains,
            confirmed_by: None,
            dispersion: None,
            shaper: found.bucket.map(|bucket| ShaperReading {
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
                    "trains arrive at once up to {} and at {} from then on: a token bucket",
                    shaper.bucket, shaper.rate.rate
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
