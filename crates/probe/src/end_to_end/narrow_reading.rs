//! The capacity of the narrow link by pairs and bulks.

use super::channel::TrainChannel;
use super::readings::{LEADING, pairs};
use super::shaper::ShaperReading;
use super::trains::Trains;
use crate::cannot_tell::CannotTell;
use crate::narrow_capacity::{PairCapacity, PairReading, bulk_packets};
use crate::rate_estimate::{Confidence, RateEstimate};
use caudal_core::plan::{TrainSeries, TrainSpacing};
use caudal_core::units::BitRate;

/// Packet pairs per size; minimum for an estimate.
const PAIRS: u32 = 100;
const MIN_PAIRS: u32 = 30;
/// Minimum time between two pairs or bulks, ns.
const PAIR_PERIOD_NS: u64 = 20_000_000;
/// Time between two pairs or bulks, relative to the time that one takes on the narrow link.
const PAIR_PERIODS: f64 = 4.0;
/// Maximum time for the pairs of one size, ns.
const PAIRS_NS: u64 = 5_000_000_000;
/// Sizes of pairs relative to the largest packet; fallback sizes when every full-size pair is queued, as short packets fit into gaps of
/// other traffic.
const SIZES: [f64; 2] = [1.0, 0.62];
const SHORT_SIZES: [f64; 2] = [0.35, 0.2];
/// Noise of the kernel's arrival timestamps, and of the times at which a program read, ns.
const KERNEL_NOISE_NS: u64 = 1_000;
const READ_NOISE_NS: u64 = 20_000;
/// Relative half-width of a capacity below which bulks are skipped; below which its interval counts as narrow.
const NEEDS_NO_BULKS: f64 = 0.005;
const NARROW: f64 = 0.02;
/// Datagrams of the shortest bulk; growth from one attempt to the next.
const MIN_BULK: u32 = 8;
const BULK_GROWTH: u32 = 4;
/// Maximum attempts with bulks.
const BULK_ATTEMPTS: u32 = 3;
/// Maximum datagrams per bulk.
const MAX_BULK: u32 = 500;
/// Maximum relative difference for the line through two sizes to agree with a rate: 10 %, as the line rests on the difference of two
/// times of some microseconds, each with the noise of a timestamp.
const NEAR: f64 = 0.1;
/// Relative difference above which two capacities contradict each other.
const MAX_DISAGREEMENT: f64 = 0.05;

/// What a capacity was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityMethod {
    /// Pairs of packets that met no queue (CapProbe).
    Pairs,
    /// The first and the last packet of bulks (PBProbe).
    Bulks {
        /// The packets after the first.
        packets: u32,
    },
    /// The rate at which trains arrived.
    Trains,
}

/// The capacity by pairs or bulks.
pub(super) struct NarrowReading {
    pub(super) capacity: Result<PairCapacity, CannotTell>,
    pub(super) method: CapacityMethod,
    /// `true` where pairs of every size did: then bulks do as well.
    met_queues: bool,
    /// Why pairs and bulks show nothing, where trains answer in their place.
    instead_of: Option<CannotTell>,
}

impl NarrowReading {
    /// The reading of a link of which nothing is known.
    pub(super) const fn unknown(cause: CannotTell) -> Self {
        Self {
            capacity: Err(cause),
            method: CapacityMethod::Trains,
            met_queues: false,
            instead_of: None,
        }
    }

    /// The same, or the rate at which `trains` arrived where pairs and bulks show nothing, as on a path whose delay varies by more than
    /// a packet takes: over a train the variation is a small part.
    pub(super) fn or_trains(self, trains: Option<&RateEstimate>) -> Self {
        match (&self.capacity, trains) {
            (Err(CannotTell::TooFast { .. } | CannotTell::BehindBucket), _) => self,
            (Err(cause), Some(trains)) => Self {
                instead_of: Some(cause.clone()),
                capacity: Ok(PairCapacity {
                    capacity: *trains,
                    bytes: 0,
                    excess_ns: 0,
                    confirmed_by: None,
                    by_difference: None,
                }),
                method: CapacityMethod::Trains,
                met_queues: self.met_queues,
            },
            _ => self,
        }
    }

    /// The same, where it is at most `max_bps`; above that the path is as fast as trains `arrived`, at least.
    pub(super) fn within(self, max_bps: u64, arrived: &RateEstimate) -> Self {
        match &self.capacity {
            Ok(found) if found.capacity.rate.bps() > max_bps => {
                Self::unknown(CannotTell::TooFast {
                    at_least: arrived.low,
                })
            }
            _ => self,
        }
    }

    /// The line before a shaper: what was read from no more than its bucket holds, of packets with `wire` bytes, and is `times` as fast.
    pub(super) fn before_shaper(self, shaper: &ShaperReading, wire: u64, times: f64) -> Self {
        let packets = match self.method {
            CapacityMethod::Pairs => LEADING + 2,
            CapacityMethod::Bulks { packets } => LEADING + 1 + packets,
            CapacityMethod::Trains => u32::MAX,
        };
        let fits = u64::from(packets) * wire <= shaper.bucket.get();
        let is_faster =
            |found: &PairCapacity| found.capacity.low.as_f64() >= times * shaper.rate.rate.as_f64();
        match &self.capacity {
            Ok(found) if fits && is_faster(found) => self,
            Err(_) => self,
            Ok(_) => Self::unknown(CannotTell::BehindBucket),
        }
    }

    /// Confidence in this estimate beside the rate of trains, and the reason.
    pub(super) fn judged(
        &self,
        found: &PairCapacity,
        dispersion: Option<&RateEstimate>,
    ) -> (Confidence, String) {
        let capacity = found.capacity.rate;
        let took_us = f64::from(found.bytes) * 8e6 / capacity.as_f64().max(1.0);
        let mut reason = match self.method {
            CapacityMethod::Pairs => {
                format!("packets of pairs that met no queue arrive {took_us:.1} µs apart")
            }
            CapacityMethod::Bulks { packets } => {
                format!("bulks of {packets} packets that met no queue take {took_us:.1} µs")
            }
            CapacityMethod::Trains => {
                let reason = match &self.instead_of {
                    Some(cause) => format!(
                        "trains arrive at {capacity}, which is less than the capacity beside other traffic; pairs of packets show nothing, \
                         because {cause}"
                    ),
                    None => format!(
                        "trains arrive at {capacity}, which is more than pairs and bulks show: hosts are late with those"
                    ),
                };
                return (Confidence::Low, reason);
            }
        };
        let trains = dispersion.map(|rate| rate.rate.as_f64() / capacity.as_f64());
        if let Some(share) = trains {
            if share > 1.0 + 2.0 * MAX_DISAGREEMENT {
                reason += "; trains arrive faster than that, so the pairs are not those of the narrow link";
                return (Confidence::Low, reason);
            }
            if share < 1.0 - MAX_DISAGREEMENT {
                reason += &format!(
                    "; trains arrive at {:.0} % of it beside other traffic",
                    100.0 * share
                );
            }
        }
        if self.met_queues {
            reason += "; but pairs of every size met queues, and a link with other traffic between the packets is faster than that";
            return (Confidence::Low, reason);
        }
        let width = found.capacity.relative_half_width();
        let is_narrow = width.is_some_and(|width| width <= NARROW);
        if found.confirmed_by.is_some() {
            reason += match self.method {
                CapacityMethod::Pairs => "; two sizes of packet agree",
                CapacityMethod::Bulks { .. } | CapacityMethod::Trains => "; shorter ones agree",
            };
        }
        let is_alone = trains.is_some_and(|share| share >= 1.0 - MAX_DISAGREEMENT);
        let confidence = match (is_narrow, found.confirmed_by.is_some()) {
            (true, true) => Confidence::High,
            (true, false) => Confidence::Medium,
            (false, true) if is_alone => Confidence::Medium,
            (false, _) => Confidence::Low,
        };
        (confidence, reason)
    }
}

/// What hosts add to the times of pairs.
struct HostNoise {
    /// The noise of a time of arrival, ns.
    times_ns: u64,
    /// What they add to each dispersion, ns.
    offset_ns: f64,
}

impl<C: TrainChannel> Trains<'_, C> {
    /// The capacity of the narrow link by pairs, and by bulks where pairs are too short or meet too much noise; that of trains where these
    /// arrive faster than both. Where trains arrive bunched, pairs that show nothing are not followed by what would show as little.
    pub(super) fn narrow(
        &mut self,
        trains: &RateEstimate,
        is_bunched: bool,
    ) -> Result<NarrowReading, C::Error> {
        let rough = trains.rate;
        let (mut capacity, mut noise) = self.pairs(SIZES, rough)?;
        if is_bunched && let Err(cause) = capacity {
            return Ok(NarrowReading::unknown(cause));
        }
        if met_queues(&capacity, rough) {
            (capacity, noise) = self.pairs(SHORT_SIZES, rough)?;
        } else if is_beside_traffic(&capacity, rough) {
            let (short, more) = self.pairs(SHORT_SIZES, rough)?;
            if is_better(&short, &capacity) {
                (capacity, noise) = (short, more);
            }
        }
        let pairs = NarrowReading {
            met_queues: met_queues(&capacity, rough),
            capacity,
            method: CapacityMethod::Pairs,
            instead_of: None,
        };
        let is_possible = !is_below(&pairs.capacity, trains);
        if is_possible && is_narrow(&pairs.capacity) {
            return Ok(pairs);
        }
        let found = self.by_bulks(pairs, trains, &noise)?;
        if is_below(&found.capacity, trains) {
            let capacity = found.capacity.map(|found| PairCapacity {
                capacity: *trains,
                confirmed_by: None,
                ..found
            });
            return Ok(NarrowReading {
                capacity,
                method: CapacityMethod::Trains,
                ..found
            });
        }
        Ok(found)
    }

    /// Sends pairs of these sizes, parts of the largest: what they say, and the noise of their times, ns.
    fn pairs(
        &mut self,
        sizes: [f64; 2],
        rough: BitRate,
    ) -> Result<(Result<PairCapacity, CannotTell>, HostNoise), C::Error> {
        let full = f64::from(self.settings.max_payload());
        let (mut readings, mut noise_ns) = (Vec::new(), 0);
        for size in sizes {
            let length = ((full * size) as u32).max(self.settings.min_payload());
            let (more, more_noise_ns) = self.bulks(length, 1, rough)?;
            readings.extend(more);
            noise_ns = noise_ns.max(more_noise_ns);
        }
        let noise = HostNoise {
            times_ns: noise_ns,
            offset_ns: PairCapacity::host_offset_ns(&readings, noise_ns),
        };
        Ok((PairCapacity::from_pairs(&readings, noise_ns), noise))
    }

    /// Bulks that become longer until their capacity is narrow; that of the pairs where none is narrower.
    fn by_bulks(
        &mut self,
        pairs: NarrowReading,
        trains: &RateEstimate,
        noise: &HostNoise,
    ) -> Result<NarrowReading, C::Error> {
        let rough = trains.rate;
        let full = self.settings.max_payload();
        let wire = u64::from(self.settings.wire_bytes(full));
        let pair_ns = rough.gap_ns(wire).unwrap_or(0.0) as u64;
        let mut packets =
            bulk_packets(pair_ns, noise.times_ns).map_or(MIN_BULK, |k| k.max(MIN_BULK));
        let mut best = pairs;
        for _ in 0..BULK_ATTEMPTS {
            if packets > MAX_BULK || self.channel.is_stopped() {
                break;
            }
            let (readings, noise_ns) = self.bulks(full, packets, rough)?;
            let found = PairCapacity::from_pairs(&readings, noise_ns).map(|found| {
                // Bulks are of one size, and do not show by themselves what hosts add.
                found.with_host_offset(noise.offset_ns).unwrap_or(found)
            });
            let has_met_queues = met_queues(&found, rough);
            let is_possible = !is_below(&best.capacity, trains);
            if found.is_ok() && !is_possible || is_better(&found, &best.capacity) {
                let known = best.capacity.ok().filter(|_| is_possible);
                let confirmed_by = known.map(|found| found.capacity);
                best = NarrowReading {
                    met_queues: best.met_queues,
                    capacity: found.map(|found| PairCapacity {
                        confirmed_by: found.confirmed_by.or(confirmed_by),
                        ..found
                    }),
                    method: CapacityMethod::Bulks { packets },
                    instead_of: None,
                };
            }
            let is_enough = is_narrow(&best.capacity) && !is_below(&best.capacity, trains);
            // The longer a bulk, the more of other traffic it meets.
            if is_enough || has_met_queues {
                break;
            }
            packets *= BULK_GROWTH;
        }
        Ok(best)
    }

    /// Sends bulks of `packets` datagrams after the first with this payload: what arrived, and the noise of its times, ns.
    fn bulks(
        &mut self,
        length: u32,
        packets: u32,
        rough: BitRate,
    ) -> Result<(Vec<PairReading>, u64), C::Error> {
        let wire = self.settings.wire_bytes(length);
        let datagrams = self.settings.train_datagrams(length, LEADING + packets + 1);
        let payload = u64::from(datagrams) * u64::from(length);
        let took_ns = rough.gap_ns(u64::from(wire) * u64::from(datagrams));
        let period_ns = ((took_ns.unwrap_or(0.0) * PAIR_PERIODS) as u64)
            .max(PAIR_PERIOD_NS)
            .max(self.settings.min_period_ns(payload));
        let fit = u32::try_from(PAIRS_NS / period_ns).unwrap_or(PAIRS);
        let wanted = fit.clamp(MIN_PAIRS, PAIRS);
        let trains = self.settings.series_trains(payload, period_ns, wanted);
        if trains == 0 || datagrams < LEADING + 2 {
            return Ok((Vec::new(), KERNEL_NOISE_NS));
        }
        let readings = self.send(TrainSeries {
            trains,
            datagrams,
            length,
            spacing: TrainSpacing::BackToBack,
            period_ns,
            timed: true,
        })?;
        let Some(readings) = readings else {
            return Ok((Vec::new(), KERNEL_NOISE_NS));
        };
        let is_kernels = readings
            .received
            .as_ref()
            .is_some_and(|all| all.kernel_times);
        let noise_ns = if is_kernels {
            KERNEL_NOISE_NS
        } else {
            READ_NOISE_NS
        };
        Ok((pairs(&readings, wire, self.settings.one_clock), noise_ns))
    }
}

fn width(capacity: &Result<PairCapacity, CannotTell>) -> Option<f64> {
    capacity.as_ref().ok()?.capacity.relative_half_width()
}

/// `true` for a capacity that needs no better one.
fn is_narrow(capacity: &Result<PairCapacity, CannotTell>) -> bool {
    width(capacity).is_some_and(|width| width <= NEEDS_NO_BULKS)
}

/// `true` for a capacity that trains exceed, beyond the errors of both: they arrive as fast as the narrow link lets them, or slower.
fn is_below(capacity: &Result<PairCapacity, CannotTell>, trains: &RateEstimate) -> bool {
    let high = capacity.as_ref().ok().and_then(|found| found.capacity.high);
    high.is_some_and(|high| high < trains.low)
}

/// `true` where no pair came through without queueing, or all have other traffic between their packets: then they read less than trains,
/// which are never faster than the link.
fn met_queues(capacity: &Result<PairCapacity, CannotTell>, trains: BitRate) -> bool {
    match capacity {
        Ok(found) => is_lower(found.capacity.rate, trains) && !are_hosts(found, trains),
        Err(cause) => matches!(
            cause,
            CannotTell::NotConverged { .. } | CannotTell::SizesDisagree { .. }
        ),
    }
}

/// `true` for a capacity that is not exact where trains are slower than it, as beside other traffic.
fn is_beside_traffic(capacity: &Result<PairCapacity, CannotTell>, trains: BitRate) -> bool {
    let is_exact = width(capacity).is_none_or(|width| width <= NARROW);
    let is_slower =
        |found: &PairCapacity| is_lower(trains, found.capacity.rate) && !are_hosts(found, trains);
    !is_exact && capacity.as_ref().is_ok_and(is_slower)
}

/// `true` for a rate that is lower than another, by more than both may differ.
fn is_lower(rate: BitRate, other: BitRate) -> bool {
    rate.as_f64() < other.as_f64() * (1.0 - MAX_DISAGREEMENT)
}

/// `true` where pairs differ from `rate` by what hosts add to each: the line through both sizes has that rate.
fn are_hosts(found: &PairCapacity, rate: BitRate) -> bool {
    let by_difference = found.by_difference.map(BitRate::as_f64);
    by_difference.is_some_and(|line| (line / rate.as_f64() - 1.0).abs() <= NEAR)
}

/// `true` where `found` has a narrower interval than `best` and is no lower, or is the only one of both: other traffic that steps
/// between the packets of every bulk makes it lower.
fn is_better(
    found: &Result<PairCapacity, CannotTell>,
    best: &Result<PairCapacity, CannotTell>,
) -> bool {
    match (found, best) {
        (Ok(found), Ok(known)) => {
            let (rate, width) = (found.capacity.rate, found.capacity.relative_half_width());
            let is_slower = is_lower(rate, known.capacity.rate) && !are_hosts(known, rate);
            !is_slower && width < known.capacity.relative_half_width()
        }
        (Ok(_), Err(_)) => true,
        (Err(_), _) => false,
    }
}
