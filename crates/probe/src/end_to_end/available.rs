//! The available bandwidth between two ends: streams at rates around it.

use super::capacity::EndToEndCapacity;
use super::channel::TrainChannel;
use super::readings::streams;
use super::settings::EndToEndSettings;
use super::trains::Trains;
use crate::available_bandwidth::{
    AvailableBandwidth, FleetOutcome, RateSearch, SearchPrecision, StreamShape, fleet_outcome,
};
use crate::cannot_tell::CannotTell;
use caudal_core::plan::{Direction, TrainSeries, TrainSpacing};
use caudal_core::units::{BitRate, ByteCount};

/// Streams per fleet.
const STREAMS: u32 = 12;
/// Time from the start of one stream to that of the next, in stream lengths: the load stays a third of the rate.
const STREAM_PERIODS: u64 = 3;
/// Minimum pause between two streams beside a round trip, ns.
const MIN_IDLE_NS: u64 = 5_000_000;
/// Target spacing of packets, s: smaller packets keep streams short on slow paths.
const WANTED_GAP_S: f64 = 1e-3;
/// Minimum payload of a stream's packets, bytes.
const MIN_PAYLOAD: u32 = 200;
/// Minimum gap that a sender can keep even, ns.
const MIN_GAP_NS: u64 = 4_000;
/// Share of the capacity at which a search begins without a rate from trains.
const FIRST_PART: f64 = 0.7;
/// How far above the capacity rates are tried, relative to it, so that an idle path has a bracket.
const BEYOND: f64 = 0.05;
/// Maximum fleets in a row without a result before a search ends.
const MAX_SILENT: u32 = 2;

/// Searches the available bandwidth of a direction whose capacity is known, on the wire; or why it is not known.
///
/// # Errors
/// Those of the channel.
pub fn measure_available<C: TrainChannel>(
    channel: &mut C,
    direction: Direction,
    capacity: &EndToEndCapacity,
    settings: &EndToEndSettings,
) -> Result<Result<AvailableBandwidth, CannotTell>, C::Error> {
    let Some(max) = max_rate(capacity, settings) else {
        return Ok(Err(match &capacity.narrow {
            Err(cause @ CannotTell::TooFast { .. }) => cause.clone(),
            _ => CannotTell::NoCapacity,
        }));
    };
    let start = match &capacity.dispersion {
        Some(trains) => trains.rate,
        None => BitRate::from_f64(max.as_f64() * FIRST_PART).unwrap_or(max),
    };
    let mut search = match RateSearch::new(start, max, SearchPrecision::default()) {
        Ok(search) => search,
        Err(cause) => return Ok(Err(cause)),
    };
    let bucket = capacity
        .shaper
        .map_or(ByteCount::ZERO, |shaper| shaper.bucket);
    let mut trains = Trains {
        channel,
        direction,
        settings,
    };
    let mut silent = 0;
    while let Some(rate) = search.next_rate() {
        if trains.channel.is_stopped() {
            break;
        }
        let below = search.outcome().map_or(BitRate::ZERO, |found| found.low);
        match trains.fleet(rate, below, bucket)? {
            Ok(outcome) => {
                silent = 0;
                search.record(outcome);
            }
            Err(cause) => {
                silent += 1;
                if silent >= MAX_SILENT {
                    return Ok(match search.outcome() {
                        Ok(found) => Ok(within(
                            AvailableBandwidth {
                                unfinished: true,
                                ..found
                            },
                            capacity,
                        )),
                        Err(_) => Err(cause),
                    });
                }
            }
        }
    }
    let is_over = search.next_rate().is_none();
    Ok(search.outcome().map(|found| {
        within(
            AvailableBandwidth {
                unfinished: found.unfinished || !is_over,
                ..found
            },
            capacity,
        )
    }))
}

/// No more than the path sustains: rates a little above it were tried, to show where it ends.
fn within(found: AvailableBandwidth, capacity: &EndToEndCapacity) -> AvailableBandwidth {
    let Some(sustained) = capacity.sustained().map(|sustained| sustained.rate) else {
        return found;
    };
    // Without an upper end it is at least `low`; nothing is above what the path sustains.
    let is_all = found.low >= sustained;
    AvailableBandwidth {
        low: found.low.min(sustained),
        high: match found.high {
            Some(high) => Some(high.min(sustained)),
            None => is_all.then_some(sustained),
        },
        grey: found
            .grey
            .map(|(low, high)| (low.min(sustained), high.min(sustained)))
            .filter(|(low, high)| low < high),
        ..found
    }
}

/// The highest rate that is tried: a little above the sustained one, within what both ends can send.
fn max_rate(capacity: &EndToEndCapacity, settings: &EndToEndSettings) -> Option<BitRate> {
    let sustained = capacity.sustained()?;
    let payload = settings.max_payload();
    let allowed = settings
        .max_rate
        .map(|max| settings.wire_rate(max, payload));
    let even = f64::from(settings.wire_bytes(payload)) * 8e9 / MIN_GAP_NS as f64;
    let highest = sustained.high.unwrap_or(sustained.rate).as_f64() * (1.0 + BEYOND);
    [BitRate::from_f64(highest), allowed, BitRate::from_f64(even)]
        .into_iter()
        .flatten()
        .min()
}

impl<C: TrainChannel> Trains<'_, C> {
    /// Sends a fleet of streams at a rate on the wire: where the rate lies.
    fn fleet(
        &mut self,
        rate: BitRate,
        below: BitRate,
        bucket: ByteCount,
    ) -> Result<Result<FleetOutcome, CannotTell>, C::Error> {
        let length = stream_payload(rate, self.settings);
        let wire = self.settings.wire_bytes(length);
        let shape = match StreamShape::new(rate, wire, below, bucket) {
            Ok(shape) => shape,
            Err(cause) => return Ok(Err(cause)),
        };
        let gap_ns = shape.spacing.as_nanos() as u64;
        let stream_ns = gap_ns * u64::from(shape.packets);
        let idle_ns = MIN_IDLE_NS.max(self.settings.rtt.as_nanos() as u64);
        let payload = u64::from(shape.packets) * u64::from(length);
        let period_ns = (stream_ns * STREAM_PERIODS)
            .max(stream_ns + idle_ns)
            .max(self.settings.min_period_ns(payload));
        let trains = self.settings.series_trains(payload, period_ns, STREAMS);
        let series = TrainSeries {
            trains,
            datagrams: shape.packets,
            length,
            spacing: TrainSpacing::Constant { gap_ns },
            period_ns,
            timed: true,
        };
        if trains == 0 {
            return Ok(Err(CannotTell::Implausible(
                "the other end allows no streams as long as it takes",
            )));
        }
        let readings = self.send(series)?;
        let fleet = readings.map(|readings| streams(&readings));
        Ok(match fleet {
            Some(fleet) if fleet.is_empty() => Err(CannotTell::Implausible(
                "no stream left evenly: the sender is short of processor time",
            )),
            Some(fleet) => fleet_outcome(&fleet),
            None => Err(CannotTell::NoReadings),
        })
    }
}

/// The payload of a stream's packets: full ones, and on slow paths smaller ones.
fn stream_payload(rate: BitRate, settings: &EndToEndSettings) -> u32 {
    let wire = rate.as_f64() * WANTED_GAP_S / 8.0;
    let headers = settings.wire_bytes(MIN_PAYLOAD) - MIN_PAYLOAD;
    let max = settings.max_payload();
    let payload = (wire as u32).saturating_sub(headers);
    payload.clamp(MIN_PAYLOAD.min(max), max)
}

#[cfg(test)]
mod tests {
    use super::super::narrow_reading::CapacityMethod;
    use super::*;
    use crate::rate_estimate::{Confidence, RateEstimate};

    #[test]
    fn packets_are_full_on_fast_paths_and_smaller_on_slow_ones() {
        let settings = EndToEndSettings::new(1500, 1);
        let payload = |mbps: f64| {
            let rate = BitRate::from_f64(mbps * 1e6).unwrap();
            stream_payload(rate, &settings)
        };
        assert_eq!((payload(100.0), payload(13.0)), (1472, 1472));
        // 4 Mbit/s in 500 bytes every millisecond.
        assert_eq!(payload(4.0), 434);
        assert_eq!(payload(0.1), 200);
    }

    fn mbps(mbps: f64) -> BitRate {
        BitRate::from_f64(mbps * 1e6).unwrap()
    }

    #[test]
    fn the_available_bandwidth_is_never_above_the_capacity() {
        let capacity = EndToEndCapacity {
            narrow: Ok(RateEstimate {
                rate: mbps(20.001),
                low: mbps(19.91),
                high: Some(mbps(20.092)),
                confidence: 0.0,
                readings: 40,
            }),
            method: CapacityMethod::Pairs,
            confirmed_by: None,
            dispersion: None,
            shaper: None,
            longest_train: ByteCount::ZERO,
            confidence: Confidence::High,
            reason: String::new(),
        };
        let all = mbps(20.001);
        for (low, high, expected) in [
            (19.2, Some(20.12), (mbps(19.2), Some(all))),
            (20.12, Some(21.0), (all, Some(all))),
            // Nothing was too fast: all of it is free, or all up to what the other end allows.
            (20.12, None, (all, Some(all))),
            (5.0, None, (mbps(5.0), None)),
        ] {
            let found = AvailableBandwidth {
                low: mbps(low),
                high: high.map(mbps),
                grey: Some((mbps(20.1), mbps(20.12))),
                fleets: 5,
                unfinished: false,
            };
            let found = within(found, &capacity);
            assert_eq!((found.low, found.high), expected);
            assert_eq!(found.grey, None);
        }
    }
}
