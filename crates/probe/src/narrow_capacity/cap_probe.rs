//! The capacity from the pair of packets that met no queue (CapProbe).

use crate::cannot_tell::CannotTell;
use crate::rate_estimate::{RateEstimate, rate_of};
use caudal_core::units::BitRate;
use caudal_stats::midpoint_median;
use std::collections::BTreeMap;

/// Minimum pairs of one size.
const MIN_PAIRS: usize = 20;
/// Maximum excess of the minimum delay sum over the sum of the minima, relative to the dispersion, for a pair that met no queue.
const MAX_RELATIVE_EXCESS: f64 = 0.05;
/// Maximum relative difference for two sizes to agree.
const MAX_DISAGREEMENT: f64 = 0.05;
/// Minimum ratio of a dispersion to the noise of timestamps: below it the gap is the host's.
const MIN_NOISE_RATIO: f64 = 2.0;
/// Maximum share of such gaps for an estimate.
const MAX_COALESCED: f64 = 0.3;
/// Minimum number of least-delayed pairs that are compared with the one of least delay.
const MIN_ALIKE: usize = 5;
/// Minimum pairs for an estimate of their spread.
const MIN_SPREAD: usize = 8;
/// Maximum share of a dispersion, ns, that is attributed to hosts: waking up takes tens of microseconds.
const MAX_HOST_NS: f64 = 100_000.0;
/// Maximum plausible delay or dispersion, ns: a minute.
const MAX_NS: u64 = 60_000_000_000;

/// A pair of packets that left back to back, or the first and the last of a bulk that did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairReading {
    /// The bytes between the arrivals of the two, on the wire: the size of the second packet, and of those between them in a bulk.
    pub bytes: u32,
    /// The one-way or round-trip delay of the first, ns.
    ///
    /// It may contain an offset between clocks, of either sign, that is the same for all pairs: a drift is to be removed before.
    pub first_delay_ns: i64,
    /// The same of the second, which left at the same time: the dispersion is the difference.
    pub second_delay_ns: i64,
}

impl PairReading {
    fn dispersion_ns(&self) -> Option<u64> {
        let difference = self.second_delay_ns.checked_sub(self.first_delay_ns)?;
        u64::try_from(difference).ok().filter(|ns| *ns <= MAX_NS)
    }
}

/// The capacity of the narrow link from pairs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairCapacity {
    /// The capacity, at the layer of the sizes handed in.
    ///
    /// Its interval is a bound from the excess and the noise of the times, at least their resolution and what they show of it, not a
    /// confidence interval of many results.
    pub capacity: RateEstimate,
    /// The bytes of the pairs that gave it.
    pub bytes: u32,
    /// The minimum delay sum less the sum of the minima, ns: the queueing that the best pair may have met.
    pub excess_ns: u64,
    /// The capacity of another size of packet, which agrees; `None` when there was one size only.
    pub confirmed_by: Option<RateEstimate>,
    /// The rate of the line through two sizes, which what hosts add to both does not change; `None` when there was one size only, or
    /// nothing that they added.
    pub by_difference: Option<BitRate>,
}

impl PairCapacity {
    /// The capacity that `pairs` of one or more sizes show, with timestamps of `noise_ns`.
    ///
    /// The pair with the minimum sum of both delays met no queue if that sum is the sum of the minima of both: then its dispersion is
    /// `bytes / C`. Pairs that come as close to it as the noise allows are averaged by their median. Source: Kapoor, Chen, Lao,
    /// Gerla and Sanadidi, "CapProbe: A Simple and Accurate Capacity Estimation Technique", 2004.
    ///
    /// # Errors
    /// When there are too few pairs, all met queues, gaps are those of the host, or sizes disagree by more than 5 % and more than hosts explain.
    pub fn from_pairs(pairs: &[PairReading], noise_ns: u64) -> Result<Self, CannotTell> {
        let results = of_each_size(pairs, noise_ns);
        let mut found = results.iter().rev().flatten();
        let (best, other) = (found.next(), found.next());
        let Some(best) = best else {
            let mut causes = results.into_iter().filter_map(Result::err);
            // The largest size has the largest dispersion, and comes closest to a result.
            return Err(causes.next_back().unwrap_or(CannotTell::NoReadings));
        };
        let Some(other) = other else {
            return best.capacity(0.0, None);
        };
        let alone = (best.rate(0.0)?, other.rate(0.0)?);
        let (first, second) = (alone.0.rate, alone.1.rate);
        let offset_ns = best.offset_ns(other);
        let is_hosts = offset_ns > 0.0 && offset_ns <= MAX_HOST_NS;
        let disagree = (first.as_f64() / second.as_f64() - 1.0).abs() > MAX_DISAGREEMENT;
        if disagree && !is_hosts {
            return Err(CannotTell::SizesDisagree { first, second });
        }
        let found = best.capacity(offset_ns, Some(other.rate(offset_ns)?))?;
        let by_difference = best.rate_by_difference(other).filter(|_| is_hosts);
        Ok(Self {
            by_difference,
            ..found
        })
    }

    /// The time by which hosts make dispersions longer or shorter, ns, as pairs of two sizes show it: 0 where they show none, and where it
    /// is too long for that, as behind other traffic.
    #[must_use]
    pub fn host_offset_ns(pairs: &[PairReading], noise_ns: u64) -> f64 {
        let results = of_each_size(pairs, noise_ns);
        let mut found = results.iter().rev().flatten();
        let (best, other) = (found.next(), found.next());
        let offset_ns = best.zip(other).map(|(best, other)| best.offset_ns(other));
        offset_ns.filter(|ns| *ns <= MAX_HOST_NS).unwrap_or(0.0)
    }

    /// The same with an interval that allows for `offset_ns` of the dispersion to be the hosts'; `None` where nothing is left of it.
    #[must_use]
    pub fn with_host_offset(self, offset_ns: f64) -> Option<Self> {
        let ns_per_byte = |rate: BitRate| 8e9 / rate.as_f64();
        let more = offset_ns / f64::from(self.bytes);
        let ends = (
            ns_per_byte(self.capacity.high?) - more,
            ns_per_byte(self.capacity.low) + more,
        );
        let middle = ns_per_byte(self.capacity.rate);
        let readings = self.capacity.readings;
        Some(Self {
            capacity: RateEstimate::from_ns_per_byte(middle, ends, 0.0, readings)?,
            ..self
        })
    }
}

/// What the pairs of each size show, by size.
fn of_each_size(pairs: &[PairReading], noise_ns: u64) -> Vec<Result<OfOneSize, CannotTell>> {
    let mut by_size: BTreeMap<u32, Vec<DelayPair>> = BTreeMap::new();
    for pair in pairs {
        let of_size = by_size.entry(pair.bytes).or_default();
        of_size.extend(DelayPair::from_reading(pair));
    }
    let sizes = by_size.iter();
    sizes
        .map(|(bytes, pairs)| OfOneSize::read(*bytes, pairs, noise_ns as f64))
        .collect()
}

/// The delays of a pair, ns.
#[derive(Debug, Clone, Copy)]
struct DelayPair {
    first: i128,
    second: i128,
    dispersion: f64,
}

impl DelayPair {
    fn from_reading(pair: &PairReading) -> Option<Self> {
        Some(Self {
            first: i128::from(pair.first_delay_ns),
            second: i128::from(pair.second_delay_ns),
            dispersion: pair.dispersion_ns()? as f64,
        })
    }

    fn sum(&self) -> i128 {
        self.first + self.second
    }
}

/// What the pairs of one size show.
#[derive(Debug, Clone, Copy)]
struct OfOneSize {
    bytes: u32,
    dispersion_ns: f64,
    /// The bound of its error: queueing of the pair chosen, and the noise of the times.
    uncertain_ns: f64,
    excess_ns: f64,
    noise_ns: f64,
    /// The pairs with about the least delay.
    alike: u64,
}

impl OfOneSize {
    fn read(bytes: u32, pairs: &[DelayPair], noise_ns: f64) -> Result<Self, CannotTell> {
        if pairs.len() < MIN_PAIRS {
            return Err(CannotTell::TooFew {
                what: "pairs of one size",
                have: pairs.len() as u64,
                need: MIN_PAIRS as u64,
            });
        }
        let of_host = |pair: &&DelayPair| pair.dispersion <= MIN_NOISE_RATIO * noise_ns;
        let coalesced = pairs.iter().filter(of_host).count() as f64 / pairs.len() as f64;
        if coalesced > MAX_COALESCED {
            return Err(CannotTell::Coalesced {
                percent: (coalesced * 100.0).round() as u32,
            });
        }
        let (Some(best), Some(first), Some(second)) = (
            pairs.iter().min_by_key(|pair| pair.sum()),
            pairs.iter().map(|pair| pair.first).min(),
            pairs.iter().map(|pair| pair.second).min(),
        ) else {
            return Err(CannotTell::NoReadings);
        };
        let excess_ns = (best.sum() - first - second) as f64;
        if excess_ns > MAX_RELATIVE_EXCESS * best.dispersion + 2.0 * noise_ns {
            return Err(CannotTell::NotConverged {
                excess_ns: excess_ns as u64,
            });
        }
        let noise_ns = noise_ns.max(spread_ns(pairs));
        let alike = dispersions_within(pairs, best, 2.0 * noise_ns);
        let count = alike.len() as u64;
        let dispersion_ns = midpoint_median(alike).unwrap_or(best.dispersion);
        let noise_ns = noise_ns.max(deviation_ns(pairs, best, dispersion_ns));
        Ok(Self {
            bytes,
            dispersion_ns,
            // The excess is queueing of either packet, and the noise of two times comes on top: with its step it does not average out.
            uncertain_ns: excess_ns + 2.0 * noise_ns,
            excess_ns,
            noise_ns,
            alike: count,
        })
    }

    /// The rate, where a part of the dispersion of up to `offset_ns` may not be the link's.
    fn rate(&self, offset_ns: f64) -> Result<RateEstimate, CannotTell> {
        let uncertain_ns = self.uncertain_ns + offset_ns;
        let per_byte = |ns: f64| ns / f64::from(self.bytes);
        let ends = (
            per_byte(self.dispersion_ns - uncertain_ns),
            per_byte(self.dispersion_ns + uncertain_ns),
        );
        RateEstimate::from_ns_per_byte(per_byte(self.dispersion_ns), ends, 0.0, self.alike).ok_or(
            CannotTell::Implausible(
                "the dispersion of the pairs is within the noise of the timestamps",
            ),
        )
    }

    fn capacity(
        &self,
        offset_ns: f64,
        confirmed_by: Option<RateEstimate>,
    ) -> Result<PairCapacity, CannotTell> {
        Ok(PairCapacity {
            capacity: self.rate(offset_ns)?,
            bytes: self.bytes,
            excess_ns: self.excess_ns as u64,
            confirmed_by,
            by_difference: None,
        })
    }

    /// The rate of the bytes by which sizes differ over the time by which dispersions do; `None` where the larger takes no longer.
    fn rate_by_difference(&self, other: &Self) -> Option<BitRate> {
        let bytes = f64::from(self.bytes) - f64::from(other.bytes);
        rate_of((self.dispersion_ns - other.dispersion_ns) / bytes)
    }

    /// The time by which hosts make the dispersions of either size longer or shorter, ns: where the line through both does not meet the
    /// origin, by more than twice the standard deviation that noise gives it.
    ///
    /// A processor that is woken up takes longer for one packet than for the next.
    fn offset_ns(&self, other: &Self) -> f64 {
        let (size, smaller) = (f64::from(self.bytes), f64::from(other.bytes));
        let part = 1.0 / (size - smaller);
        let at_origin_ns = part * (size * other.dispersion_ns - smaller * self.dispersion_ns);
        let noise_ns = part * (size * other.noise_ns).hypot(smaller * self.noise_ns);
        if at_origin_ns.abs() > 2.0 * noise_ns {
            at_origin_ns.abs()
        } else {
            0.0
        }
    }
}

/// The dispersions of the pairs whose delay sum is that of `best` or up to `more_ns` above.
fn dispersions_within(pairs: &[DelayPair], best: &DelayPair, more_ns: f64) -> Vec<f64> {
    let limit = best.sum() as f64 + more_ns;
    let within = pairs.iter().filter(|pair| pair.sum() as f64 <= limit);
    within.map(|pair| pair.dispersion).collect()
}

/// The median distance from `dispersion_ns` of pairs with as little queueing as is taken for none, ns: where the least delay is that of
/// a pair which hosts handled otherwise than most, its dispersion is not theirs.
fn deviation_ns(pairs: &[DelayPair], best: &DelayPair, dispersion_ns: f64) -> f64 {
    let mut sums: Vec<i128> = pairs.iter().map(DelayPair::sum).collect();
    sums.sort_unstable();
    let few = sums.get(MIN_ALIKE - 1).or(sums.last());
    let few_ns = few.map_or(0.0, |sum| (sum - best.sum()) as f64);
    let near_ns = few_ns.max(MAX_RELATIVE_EXCESS * best.dispersion);
    let near = dispersions_within(pairs, best, near_ns);
    let deviations = near.iter().map(|one| (one - dispersion_ns).abs());
    midpoint_median(deviations.collect()).unwrap_or(0.0)
}

/// The spread of the dispersions of the pairs that met the least delay, ns: what is not queueing differs from one to the next.
///
/// 1.4826 times the median absolute deviation of a quarter of the pairs, which is the standard deviation where it is normal.
fn spread_ns(pairs: &[DelayPair]) -> f64 {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable_by_key(DelayPair::sum);
    sorted.truncate((pairs.len() / 4).max(MIN_SPREAD));
    let dispersions: Vec<f64> = sorted.iter().map(|pair| pair.dispersion).collect();
    let Some(middle) = midpoint_median(dispersions.clone()) else {
        return 0.0;
    };
    let deviations = dispersions.iter().map(|one| (one - middle).abs());
    midpoint_median(deviations.collect()).unwrap_or(0.0) * 1.4826
}

/// Minimum ratio of the dispersion of a bulk to the noise of the timestamps.
const MIN_BULK_NOISE_RATIO: f64 = 100.0;
/// Maximum packets per bulk.
const MAX_BULK_PACKETS: u32 = 1000;

/// The packets of a bulk whose dispersion is a hundred times the noise of the timestamps, from one pair's dispersion; at most a thousand.
///
/// On fast links the dispersion of a pair drowns in the noise of the timestamps; that of the first and the last packet of a bulk
/// of k + 1 is k times as long. `None` for a dispersion of zero. Source: Chen, Sun, Wang, Sanadidi and Gerla, "PBProbe: A Capacity
/// Estimation Tool for High Speed Networks", 2008.
#[must_use]
pub fn bulk_packets(pair_dispersion_ns: u64, noise_ns: u64) -> Option<u32> {
    if pair_dispersion_ns == 0 {
        return None;
    }
    let packets = (MIN_BULK_NOISE_RATIO * noise_ns as f64 / pair_dispersion_ns as f64).ceil();
    Some(packets.clamp(1.0, f64::from(MAX_BULK_PACKETS)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_the_link_the_longer_the_bulk() {
        // 1538 bytes at 10 Mbit/s, 1 and 10 Gbit/s, and timestamps with 1 µs of noise.
        let packets = [1_230_400, 12_304, 1230].map(|ns| bulk_packets(ns, 1000));
        assert_eq!(packets, [Some(1), Some(9), Some(82)]);
        assert_eq!(bulk_packets(0, 1000), None);
        assert_eq!(bulk_packets(1, u64::MAX), Some(1000));
    }
}
