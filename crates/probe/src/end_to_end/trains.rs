//! Trains in one direction between two ends.

use super::bucket_kind::bucket_kind;
use super::channel::TrainChannel;
use super::readings::{arrivals, departure_rate};
use super::settings::EndToEndSettings;
use crate::cannot_tell::CannotTell;
use crate::narrow_capacity::{TrainArrival, TrainsEstimate, estimate_trains};
use caudal_core::path::TokenBucketKind;
use caudal_core::plan::{Direction, MAX_TIMED_DATAGRAMS, PlannedTrains, TrainSeries, TrainSpacing};
use caudal_core::units::BitRate;
use caudal_wire::trains::SeriesReadings;

/// Number of first trains, and datagrams of each.
const FIRST_TRAINS: u32 = 3;
const FIRST_DATAGRAMS: u32 = 50;
/// Maximum datagrams of the first trains, and their growth where a bucket holds nearly all of them.
const MAX_FIRST_DATAGRAMS: u32 = 2000;
const GROWTH: u32 = 4;
/// Minimum time from the start of one long train to that of the next, ns.
const TRAIN_PERIOD_NS: u64 = 300_000_000;
/// The same relative to the time that a train takes on the path: by then the queue is empty, and the bucket of a shaper full.
const TRAIN_PERIODS: f64 = 2.0;
/// Minimum share of the gaps between arrivals that are below half their mean for packets to be bunched.
const BUNCHED: f64 = 0.2;

/// Trains of full packets back to back, and what they say.
#[derive(Debug, Clone)]
pub(super) struct LongTrains {
    /// The datagrams of each.
    pub(super) datagrams: u32,
    pub(super) estimate: Result<TrainsEstimate, CannotTell>,
    /// What a bucket that they show does to packets for which it has no tokens.
    pub(super) bucket_kind: TokenBucketKind,
    /// `true` where packets arrived closer together than the narrow link lets them leave: the delay behind it varies.
    pub(super) is_bunched: bool,
    /// The rate at which the sender's kernel took them; `None` where that is not known, or may be that of a full buffer.
    pub(super) departure: Option<BitRate>,
}

/// Trains in one direction.
pub(super) struct Trains<'a, C> {
    pub(super) channel: &'a mut C,
    pub(super) direction: Direction,
    pub(super) settings: &'a EndToEndSettings,
}

impl<C: TrainChannel> Trains<'_, C> {
    /// Sends a series; `None` where the other end did not report.
    ///
    /// Of trains that have more datagrams together than a series may have with their times, only the first ones are sent.
    pub(super) fn send(&mut self, series: TrainSeries) -> Result<Option<SeriesReadings>, C::Error> {
        let fit = MAX_TIMED_DATAGRAMS / u64::from(series.datagrams.max(1));
        let series = TrainSeries {
            trains: series
                .trains
                .min(u32::try_from(fit).unwrap_or(u32::MAX))
                .max(1),
            ..series
        };
        let (up, down) = match self.direction {
            Direction::Up => (Some(series), None),
            Direction::Down => (None, Some(series)),
        };
        let readings = self.channel.run(&PlannedTrains { up, down })?;
        Ok(readings.direction(self.direction).cloned())
    }

    /// The first trains: longer ones where the bucket of a shaper holds nearly all of a short one, or little of it arrives.
    pub(super) fn first(&mut self) -> Result<LongTrains, C::Error> {
        let mut datagrams = FIRST_DATAGRAMS;
        loop {
            let trains = self.back_to_back(FIRST_TRAINS, datagrams, None)?;
            let is_too_short = matches!(
                trains.estimate,
                Err(CannotTell::TrainTooShort { .. } | CannotTell::TooFew { .. })
            );
            if !is_too_short || datagrams >= MAX_FIRST_DATAGRAMS || self.channel.is_stopped() {
                return Ok(trains);
            }
            datagrams = (datagrams * GROWTH).min(MAX_FIRST_DATAGRAMS);
        }
    }

    /// Sends long trains of full packets back to back, and reads the rate at which they arrive; `rough` is what is known of it.
    pub(super) fn back_to_back(
        &mut self,
        trains: u32,
        datagrams: u32,
        rough: Option<BitRate>,
    ) -> Result<LongTrains, C::Error> {
        let length = self.settings.max_payload();
        let datagrams = self.settings.train_datagrams(length, datagrams);
        let payload = u64::from(datagrams) * u64::from(length);
        let wire = u64::from(self.settings.wire_bytes(length)) * u64::from(datagrams);
        let took_ns = rough.and_then(|rate| rate.gap_ns(wire)).unwrap_or(0.0);
        let period_ns = TRAIN_PERIOD_NS
            .max((took_ns * TRAIN_PERIODS) as u64)
            .max(self.settings.min_period_ns(payload));
        let trains = self.settings.series_trains(payload, period_ns, trains);
        let read = |estimate, departure| LongTrains {
            datagrams,
            estimate,
            bucket_kind: TokenBucketKind::Shaper,
            is_bunched: false,
            departure,
        };
        if trains == 0 || datagrams < 2 {
            let why = "the other end allows no trains as long as it takes";
            return Ok(read(Err(CannotTell::Implausible(why)), None));
        }
        let series = TrainSeries {
            trains,
            datagrams,
            length,
            spacing: TrainSpacing::BackToBack,
            period_ns,
            timed: true,
        };
        let Some(readings) = self.send(series)? else {
            return Ok(read(Err(CannotTell::NoReadings), None));
        };
        let wire_bytes = self.settings.wire_bytes(length);
        let arrived = arrivals(&readings, wire_bytes);
        let estimate = if arrived.is_empty() {
            Err(CannotTell::NothingArrived)
        } else {
            estimate_trains(&arrived, self.settings.confidence)
        };
        let bucket_kind = match &estimate {
            Ok(found) if found.bucket.is_some() => {
                bucket_kind(&readings, wire_bytes, found.rate.rate)
            }
            _ => TokenBucketKind::Shaper,
        };
        Ok(LongTrains {
            bucket_kind,
            is_bunched: is_bunched(&arrived),
            ..read(estimate, departure_rate(&readings, wire_bytes))
        })
    }
}

/// `true` where many gaps of the trains are much shorter than they are on average.
///
/// A link sends packets of one size at even distances or, with other traffic between them, further apart; closer together they come
/// where the delay of each varies behind it.
fn is_bunched(trains: &[Vec<TrainArrival>]) -> bool {
    let (mut short, mut all) = (0_u64, 0_u64);
    for train in trains {
        let gaps = || train.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns);
        let count = gaps().count() as u64;
        let total: u64 = gaps().sum();
        short += gaps().filter(|gap| 2 * gap * count < total).count() as u64;
        all += count;
    }
    short as f64 > BUNCHED * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(gaps_ns: impl IntoIterator<Item = u64>) -> Vec<TrainArrival> {
        let mut at_ns = 0;
        let arrival = |gap_ns| {
            at_ns += gap_ns;
            TrainArrival { bytes: 1538, at_ns }
        };
        gaps_ns.into_iter().map(arrival).collect()
    }

    #[test]
    fn packets_that_other_traffic_parts_are_not_bunched_and_those_of_a_varying_delay_are() {
        let even = train([246_000; 50]);
        let crossed = train((0..50).map(|nth| 246_000 * (1 + u64::from(nth % 2 == 0))));
        let varying = train((0..50).map(|nth| if nth % 3 == 0 { 600_000 } else { 69_000 }));
        assert!(!is_bunched(&[even.clone(), crossed]));
        assert!(is_bunched(&[varying]));
        assert!(!is_bunched(&[even, Vec::new()]));
        assert!(!is_bunched(&[]));
    }
}
