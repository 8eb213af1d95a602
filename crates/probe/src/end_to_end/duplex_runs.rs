//! The runs that show the duplex mode of the links between two ends.

use super::channel::{EndReading, TrainChannel, TrainsReadings};
use super::settings::EndToEndSettings;
use crate::duplex::{
    DuplexReadings, DuplexStatement, EachWay, EndErrors, EndLink, LightRuns, RunLoss,
    SaturatingRuns,
};
use caudal_core::interface::{InterfaceLink, LinkErrors};
use caudal_core::plan::{PlannedTrains, TrainSeries, TrainSpacing};
use caudal_core::units::BitRate;
use caudal_wire::trains::SeriesReadings;

/// Load of light runs in each direction, as a share of the lower capacity; paths below `SLOW` take the higher one.
const LIGHT: f64 = 0.1;
const SLOW: BitRate = BitRate::from_bps(50_000_000);
const SLOW_LIGHT: f64 = 0.2;
/// Duration of a light run, ns, and its minimum and maximum number of datagrams.
const LIGHT_NS: f64 = 3e9;
const LIGHT_DATAGRAMS: (f64, f64) = (700.0, 2500.0);
/// Payload of small datagrams, bytes: our header alone, in a frame hardly longer than the slot time.
const SMALL_PAYLOAD: u32 = 32;
/// Duration of a saturating run, ns.
const SATURATING_NS: f64 = 2e9;
/// Rate of a saturating run, relative to the capacity.
const SATURATING: f64 = 1.05;
/// Maximum datagrams of a saturating run.
const MAX_DATAGRAMS: f64 = 150_000.0;

/// The link of an end, and what its counters grew by.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DuplexEnd {
    /// The link; `None` where it is not known.
    pub link: Option<InterfaceLink>,
    /// What its counters grew by during runs of one direction, and during those of both; `None` without such a run.
    pub alone: Option<LinkErrors>,
    /// The same during runs of both directions.
    pub together: Option<LinkErrors>,
}

impl DuplexEnd {
    /// An end of which no more is known than its link.
    #[must_use]
    pub const fn of_link(link: Option<InterfaceLink>) -> Self {
        Self {
            link,
            alone: None,
            together: None,
        }
    }

    /// The errors that the counters show; `None` where there was no run of one of both kinds.
    #[must_use]
    pub fn errors(&self) -> Option<EndErrors> {
        let (alone, together) = (self.alone.as_ref()?, self.together.as_ref()?);
        Some(EndErrors::from_growth(alone, together))
    }

    fn take(&mut self, reading: EndReading, both_ways: bool) {
        if reading.link.is_some() {
            self.link = reading.link;
        }
        let sum = if both_ways {
            &mut self.together
        } else {
            &mut self.alone
        };
        if let Some(growth) = reading.growth {
            *sum = Some(match sum {
                Some(before) => before.plus(&growth),
                None => growth,
            });
        }
    }
}

/// What was measured of the duplex mode, and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplexMeasurement {
    /// This end.
    pub near: DuplexEnd,
    /// The other end.
    pub far: DuplexEnd,
    /// What was measured.
    pub readings: DuplexReadings,
    /// What it says.
    pub statement: DuplexStatement,
}

impl DuplexMeasurement {
    /// What readings say beside the links of both ends.
    #[must_use]
    pub fn from_readings(readings: DuplexReadings, near: DuplexEnd, far: DuplexEnd) -> Self {
        let link = |end: &DuplexEnd| end.link.as_ref().map(EndLink::from);
        let readings = DuplexReadings {
            near_link: link(&near),
            far_link: link(&far),
            near_errors: near.errors(),
            far_errors: far.errors(),
            ..readings
        };
        Self {
            near,
            far,
            statement: DuplexStatement::from_readings(&readings),
            readings,
        }
    }
}

/// Tells the duplex mode of the links between two ends whose capacities are known, from runs each way alone and both ways at once.
///
/// `near` and `far` are what is known of both ends before. Where half duplex does not exist at the rates of their interfaces, there are no
/// runs.
///
/// # Errors
/// Those of the channel.
pub fn measure_duplex<C: TrainChannel>(
    channel: &mut C,
    capacity: EachWay<BitRate>,
    is_one_hop: bool,
    (near, far): (DuplexEnd, DuplexEnd),
    settings: &EndToEndSettings,
) -> Result<DuplexMeasurement, C::Error> {
    let lower = capacity.forward.min(capacity.back);
    let mut runs = DuplexRuns {
        channel,
        settings,
        lower,
        seed: settings.seed,
        near,
        far,
    };
    let mut readings = DuplexReadings {
        capacity: Some(lower),
        is_one_hop,
        ..DuplexReadings::default()
    };
    if runs.measured(readings).readings.excludes_half_duplex() {
        return Ok(runs.measured(readings));
    }
    let load = if lower < SLOW { SLOW_LIGHT } else { LIGHT };
    let payload = settings.max_payload();
    readings.light = runs.light(load, payload)?;
    let Some(light) = readings.light.filter(|_| !runs.channel.is_stopped()) else {
        return Ok(runs.measured(readings));
    };
    if runs.measured(readings).statement.is_mismatch() {
        // Alone nothing was lost at the load itself: what is new is in both directions at once.
        readings.doubled = runs
            .together(2.0 * load, payload)?
            .map(|together| LightRuns {
                load: 2.0 * load,
                together,
                ..light
            });
        readings.small = runs
            .small_against_large(load)?
            .map(|together| LightRuns { together, ..light });
    } else {
        readings.saturating = runs.saturating(capacity)?;
    }
    Ok(runs.measured(readings))
}

/// Runs between two ends.
struct DuplexRuns<'a, C> {
    channel: &'a mut C,
    settings: &'a EndToEndSettings,
    /// The lower capacity.
    lower: BitRate,
    seed: u64,
    near: DuplexEnd,
    far: DuplexEnd,
}

impl<C: TrainChannel> DuplexRuns<'_, C> {
    /// What the readings say beside the links of both ends.
    fn measured(&self, readings: DuplexReadings) -> DuplexMeasurement {
        DuplexMeasurement::from_readings(readings, self.near.clone(), self.far.clone())
    }

    /// Runs at a part of the lower capacity: each way alone, then both ways; `None` where an end gave no account.
    fn light(&mut self, load: f64, payload: u32) -> Result<Option<LightRuns>, C::Error> {
        let forward = self.light_series(load, payload);
        let up = self.send(Some(forward), None)?;
        let back = self.light_series(load, payload);
        let down = self.send(None, Some(back))?;
        let alone = loss(up.up.as_ref()).zip(loss(down.down.as_ref()));
        let together = self.together(load, payload)?;
        Ok(alone
            .zip(together)
            .map(|((forward, back), together)| LightRuns {
                load,
                alone: EachWay { forward, back },
                together,
            }))
    }

    /// A run both ways at once.
    fn together(&mut self, load: f64, payload: u32) -> Result<Option<EachWay<RunLoss>>, C::Error> {
        let (forward, back) = (
            self.light_series(load, payload),
            self.light_series(load, payload),
        );
        let both = self.send(Some(forward), Some(back))?;
        let each = loss(both.up.as_ref()).zip(loss(both.down.as_ref()));
        Ok(each.map(|(forward, back)| EachWay { forward, back }))
    }

    /// Small datagrams against large ones: the losses of the small ones of each direction.
    fn small_against_large(&mut self, load: f64) -> Result<Option<EachWay<RunLoss>>, C::Error> {
        let payload = self.settings.max_payload();
        let (large, other_large) = (
            self.light_series(load, payload),
            self.light_series(load, payload),
        );
        let small = |series: TrainSeries| TrainSeries {
            length: SMALL_PAYLOAD,
            ..series
        };
        let up = self.send(Some(small(large)), Some(other_large))?;
        let down = self.send(Some(large), Some(small(other_large)))?;
        let each = loss(up.up.as_ref()).zip(loss(down.down.as_ref()));
        Ok(each.map(|(forward, back)| EachWay { forward, back }))
    }

    /// Datagrams at random times that load the slower direction by this part.
    fn light_series(&mut self, load: f64, payload: u32) -> TrainSeries {
        let wire = f64::from(self.settings.wire_bytes(payload));
        let gap_ns = wire * 8e9 / (self.lower.as_f64() * load).max(1.0);
        let (min, max) = LIGHT_DATAGRAMS;
        self.seed = self.seed.wrapping_add(1);
        TrainSeries {
            trains: 1,
            datagrams: (LIGHT_NS / gap_ns).clamp(min, max) as u32,
            length: payload,
            // Random: a constant rate may keep step with the other direction.
            spacing: TrainSpacing::Poisson {
                gap_ns: gap_ns as u64,
                seed: self.seed,
            },
            period_ns: 0,
            timed: false,
        }
    }

    /// Runs above the capacity: each way alone, then both ways; `None` where the other end does not allow them, or gave no account.
    fn saturating(
        &mut self,
        capacity: EachWay<BitRate>,
    ) -> Result<Option<SaturatingRuns>, C::Error> {
        let (Some(forward), Some(back)) = (
            self.saturating_series(capacity.forward),
            self.saturating_series(capacity.back),
        ) else {
            return Ok(None);
        };
        let up = self.send(Some(forward), None)?;
        let down = self.send(None, Some(back))?;
        let both = self.send(Some(forward), Some(back))?;
        let alone = goodput(up.up.as_ref()).zip(goodput(down.down.as_ref()));
        let alone = alone.map(|(forward, back)| EachWay { forward, back });
        Ok(alone
            .zip(goodputs_together(&both))
            .map(|(alone, together)| SaturatingRuns { alone, together }))
    }

    fn saturating_series(&self, capacity: BitRate) -> Option<TrainSeries> {
        let length = self.settings.max_payload();
        let wire = f64::from(self.settings.wire_bytes(length));
        let gap_ns = wire * 8e9 / (capacity.as_f64() * SATURATING).max(1.0);
        let series = TrainSeries {
            trains: 1,
            datagrams: (SATURATING_NS / gap_ns).clamp(2.0, MAX_DATAGRAMS) as u32,
            length,
            spacing: TrainSpacing::Constant {
                gap_ns: gap_ns as u64,
            },
            period_ns: 0,
            timed: false,
        };
        let (rate, max_rate) = (series.train_rate()?, self.settings.max_rate);
        let is_allowed = max_rate.is_none_or(|max| rate <= max)
            && self
                .settings
                .max_bytes
                .is_none_or(|max| series.payload() <= max)
            && self
                .settings
                .max_time
                .is_none_or(|max| series.duration() <= max);
        is_allowed.then_some(series)
    }

    fn send(
        &mut self,
        up: Option<TrainSeries>,
        down: Option<TrainSeries>,
    ) -> Result<TrainsReadings, C::Error> {
        let both_ways = up.is_some() && down.is_some();
        let readings = self.channel.run(&PlannedTrains { up, down })?;
        self.near.take(readings.near.clone(), both_ways);
        self.far.take(readings.far.clone(), both_ways);
        Ok(readings)
    }
}

fn goodput(readings: Option<&SeriesReadings>) -> Option<BitRate> {
    readings?.goodput()
}

/// The goodputs of both directions at once, over the time of the longer one: a station that captures a shared medium ends before the
/// other, which then has it alone.
fn goodputs_together(both: &TrainsReadings) -> Option<EachWay<BitRate>> {
    let (up, down) = (both.up.as_ref()?, both.down.as_ref()?);
    let elapsed_ns = [up, down].map(|one| one.received.as_ref().map(|all| all.elapsed_ns));
    let longer_ns = elapsed_ns.into_iter().flatten().max()?;
    Some(EachWay {
        forward: up.goodput_over(longer_ns)?,
        back: down.goodput_over(longer_ns)?,
    })
}

/// The losses of a series; `None` where an end gave no account.
fn loss(readings: Option<&SeriesReadings>) -> Option<RunLoss> {
    let (sent, lost) = readings?.sent_and_lost()?;
    Some(RunLoss { sent, lost })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::end_to_end::TrainsReadings;
    use caudal_wire::trains::ReceivedTrains;

    #[test]
    fn what_one_direction_carries_after_the_other_ended_is_not_carried_together() {
        let arrived = |elapsed_ns| {
            Some(SeriesReadings {
                series: TrainSeries {
                    trains: 1,
                    datagrams: 1001,
                    length: 1250,
                    spacing: TrainSpacing::BackToBack,
                    period_ns: 0,
                    timed: false,
                },
                sent: None,
                received: Some(ReceivedTrains {
                    datagrams: 1001,
                    elapsed_ns,
                    ..ReceivedTrains::default()
                }),
            })
        };
        let both = TrainsReadings {
            up: arrived(1_000_000_000),
            down: arrived(2_000_000_000),
            near: EndReading::default(),
            far: EndReading::default(),
        };
        let together = goodputs_together(&both).unwrap();
        let mbps = [together.forward, together.back].map(|rate| rate.as_f64() / 1e6);
        assert_eq!(mbps, [5.0, 5.0]);
    }
}
