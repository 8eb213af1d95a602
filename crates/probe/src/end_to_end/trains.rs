//! Trains in one direction between two ends.

use super::channel::TrainChannel;
use super::readings::arrivals;
use super::settings::EndToEndSettings;
use crate::cannot_tell::CannotTell;
use crate::narrow_capacity::{TrainsEstimate, estimate_trains};
use caudal_core::plan::{Direction, PlannedTrains, TrainSeries, TrainSpacing};
use caudal_core::trains::SeriesReadings;
use caudal_core::units::BitRate;

/// The first trains: how many, and the datagrams of each.
const FIRST_TRAINS: u32 = 3;
const FIRST_DATAGRAMS: u32 = 50;
/// The maximum number of datagrams of the first trains, and by what they grow where a bucket holds nearly all of them.
const MAX_FIRST_DATAGRAMS: u32 = 2000;
const GROWTH: u32 = 4;
/// The shortest time between the beginnings of two long trains, ns.
const TRAIN_PERIOD_NS: u64 = 300_000_000;
/// The same in units of the time that a train takes on the path: the queue is empty again then, and the bucket of a shaper full.
const TRAIN_PERIODS: f64 = 2.0;

/// Trains of full packets back to back, and what they say.
#[derive(Debug, Clone)]
pub(super) struct LongTrains {
    /// The datagrams of each.
    pub(super) datagrams: u32,
    pub(super) estimate: Result<TrainsEstimate, CannotTell>,
}

/// Trains in one direction.
pub(super) struct Trains<'a, C> {
    pub(super) channel: &'a mut C,
    pub(super) direction: Direction,
    pub(super) settings: &'a EndToEndSettings,
}

impl<C: TrainChannel> Trains<'_, C> {
    /// Sends a series; `None` where the other end did not report.
    pub(super) fn send(&mut self, series: TrainSeries) -> Result<Option<SeriesReadings>, C::Error> {
        let (up, down) = match self.direction {
            Direction::Up => (Some(series), None),
            Direction::Down => (None, Some(series)),
        };
        let readings = self.channel.run(&PlannedTrains { up, down })?;
        Ok(readings.direction(self.direction).cloned())
    }

    /// The first trains: longer ones where the bucket of a shaper holds nearly all of a short one.
    pub(super) fn first(&mut self) -> Result<LongTrains, C::Error> {
        let mut datagrams = FIRST_DATAGRAMS;
        loop {
            let estimate = self.back_to_back(FIRST_TRAINS, datagrams, None)?;
            let is_too_short = matches!(estimate, Err(CannotTell::TrainTooShort { .. }));
            if !is_too_short || datagrams >= MAX_FIRST_DATAGRAMS || self.channel.is_stopped() {
                return Ok(LongTrains {
                    datagrams,
                    estimate,
                });
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
    ) -> Result<Result<TrainsEstimate, CannotTell>, C::Error> {
        let length = self.settings.max_payload();
        let datagrams = self.settings.train_datagrams(length, datagrams);
        let payload = u64::from(datagrams) * u64::from(length);
        let wire = u64::from(self.settings.wire_bytes(length)) * u64::from(datagrams);
        let took_ns = rough.and_then(|rate| rate.gap_ns(wire)).unwrap_or(0.0);
        let period_ns = TRAIN_PERIOD_NS
            .max((took_ns * TRAIN_PERIODS) as u64)
            .max(self.settings.min_period_ns(payload));
        let trains = self.settings.series_trains(payload, period_ns, trains);
        if trains == 0 || datagrams < 2 {
            return Ok(Err(CannotTell::Implausible(
                "the other end allows no trains as long as it takes",
            )));
        }
        let series = TrainSeries {
            trains,
            datagrams,
            length,
            spacing: TrainSpacing::BackToBack,
            period_ns,
            timed: true,
        };
        let readings = self.send(series)?;
        Ok(match readings {
            Some(readings) => {
                let arrived = arrivals(&readings, self.settings.wire_bytes(length));
                if arrived.is_empty() {
                    Err(CannotTell::NothingArrived)
                } else {
                    estimate_trains(&arrived, self.settings.confidence)
                }
            }
            None => Err(CannotTell::NoReadings),
        })
    }
}
