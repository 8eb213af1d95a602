//! The capacity from the pair of packets that met no queue (CapProbe).

use crate::cannot_tell::CannotTell;
use crate::rate_estimate::RateEstimate;
use crate::sorted::median;
use std::collections::BTreeMap;

/// The minimum number of pairs of one size.
const MIN_PAIRS: usize = 20;
/// The excess of the minimum delay sum over the sum of the minima, relative to the dispersion, up to which the pair met no queue.
const MAX_RELATIVE_EXCESS: f64 = 0.05;
/// The relative difference up to which two sizes agree.
const MAX_DISAGREEMENT: f64 = 0.05;
/// The dispersion below which a gap is one of the host, in units of the noise of timestamps.
const MIN_NOISE_RATIO: f64 = 2.0;
/// The part of such gaps from which on none is believed.
const MAX_COALESCED: f64 = 0.3;
/// The minimum number of pairs from which their spread is told.
const MIN_SPREAD: usize = 8;
/// The maximum delay or dispersion taken for a reading, ns: a minute.
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
}

impl PairCapacity {
    /// The capacity that `pairs` of one or more sizes show, with timestamps of `noise_ns`.
    ///
    /// The pair with the minimum sum of both delays met no queue if that sum is the sum of the minima of both: then its dispersion is
    /// `bytes / C`. Pairs that come as close to it as the noise allows are averaged by their median. Source: Kapoor, Chen, Lao,
    /// Gerla and Sanadidi, "CapProbe: A Simple and Accurate Capacity Estimation Technique", 2004.
    ///
    /// # Errors
    /// When there are too few pairs, all met queues, gaps are those of the host, or sizes disagree by more than 5 %.
    pub fn from_pairs(pairs: &[PairReading], noise_ns: u64) -> Result<Self, CannotTell> {
        if pairs.is_empty() {
            return Err(CannotTell::NoReadings);
        }
        let mut by_size: BTreeMap<u32, Vec<DelayPair>> = BTreeMap::new();
        for pair in pairs {
            let of_size = by_size.entry(pair.bytes).or_default();
            of_size.extend(DelayPair::from_reading(pair));
        }
        let results: Vec<Result<Self, CannotTell>> = by_size
            .iter()
            .map(|(bytes, pairs)| of_size(*bytes, pairs, noise_ns as f64))
            .collect();
        let mut found: Vec<Self> = results
            .iter()
            .filter_map(|result| result.clone().ok())
            .collect();
        found.sort_by_key(|one| std::cmp::Reverse(one.bytes));
        let Some(best) = found.first().copied() else {
            let mut causes = results.into_iter().filter_map(Result::err);
            // The largest size has the largest dispersion, and comes closest to a result.
            return Err(causes.next_back().unwrap_or(CannotTell::NoReadings));
        };
        let Some(other) = found.get(1) else {
            return Ok(best);
        };
        let (first, second) = (best.capacity.rate, other.capacity.rate);
        if (first.as_f64() / second.as_f64() - 1.0).abs() > MAX_DISAGREEMENT {
            return Err(CannotTell::SizesDisagree { first, second });
        }
        Ok(Self {
            confirmed_by: Some(other.capacity),
            ..best
        })
    }
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

/// The spread of the dispersions of the pairs that met the least delay, ns: what is not queueing differs from one to the next.
///
/// 1.4826 times the median absolute deviation of a quarter of the pairs, which is the standard deviation where it is normal.
fn spread_ns(pairs: &[DelayPair]) -> f64 {
    let mut sorted = pairs.to_vec();
    sorted.sort_unstable_by_key(DelayPair::sum);
    sorted.truncate((pairs.len() / 4).max(MIN_SPREAD));
    let dispersions: Vec<f64> = sorted.iter().map(|pair| pair.dispersion).collect();
    let Some(middle) = median(dispersions.clone()) else {
        return 0.0;
    };
    let deviations = dispersions.iter().map(|one| (one - middle).abs());
    median(deviations.collect()).unwrap_or(0.0) * 1.4826
}

fn of_size(bytes: u32, pairs: &[DelayPair], noise_ns: f64) -> Result<PairCapacity, CannotTell> {
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
    let excess = (best.sum() - first - second) as f64;
    if excess > MAX_RELATIVE_EXCESS * best.dispersion + 2.0 * noise_ns {
        return Err(CannotTell::NotConverged {
            excess_ns: excess as u64,
        });
    }
    let noise_ns = noise_ns.max(spread_ns(pairs));
    let close = (best.sum() as f64) + 2.0 * noise_ns;
    let alike = pairs.iter().filter(|pair| pair.sum() as f64 <= close);
    let dispersions: Vec<f64> = alike.map(|pair| pair.dispersion).collect();
    let count = dispersions.len() as f64;
    let dispersion = median(dispersions).unwrap_or(best.dispersion);
    // The excess is queueing of either packet, and the noise of two times comes on top: with its step it does not average out.
    let uncertain = excess + 2.0 * noise_ns;
    let per_byte = |ns: f64| ns / f64::from(bytes);
    let ends = (
        per_byte(dispersion - uncertain),
        per_byte(dispersion + uncertain),
    );
    let capacity = RateEstimate::from_ns_per_byte(per_byte(dispersion), ends, 0.0, count as u64)
        .ok_or(CannotTell::Implausible(
            "the dispersion of the pairs is within the noise of the timestamps",
        ))?;
    Ok(PairCapacity {
        capacity,
        bytes,
        excess_ns: excess as u64,
        confirmed_by: None,
    })
}
