//! The capacity of each link: probes of different sizes to each hop until the intervals are narrow enough.

use super::hop_table::SMALL_BYTES;
use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{FRAME_OVERHEAD, MEASURED_FLOW, ProbeRequest};
use crate::hop_capacity::{HopDemand, PathCapacities, Primers, Priming, VpsSettings, demands};
use caudal_core::path::PathPhase;
use std::collections::BTreeMap;
use std::time::Duration;

/// Number of sizes: enough to see that times lie on a line, and few, so that the minimum of each is found soon.
const SIZES: u32 = 6;
/// Minimum size, bytes: answers of Linux quote up to 576 bytes, so those to larger probes have one size (RFC 1812 section 4.3.2.3).
const MIN_BYTES: u32 = 562;
/// Minimum difference between the largest and the smallest size, bytes: where it is less, smaller ones are used as well.
const MIN_SPAN: u32 = 400;
/// Rounds per hop that are queued at once.
const ROUNDS: u64 = 2;
/// Time between two evaluations, ns.
const EVALUATION_NS: u64 = 500_000_000;
/// Time between two probes until the path is known, ns.
const FIRST_GAP_NS: u64 = 20_000_000;
/// Minimum and maximum time between two probes, ns.
const GAP_NS: (u64, u64) = (3_000_000, 250_000_000);
/// Time between two probes, in serialisation delays of the longest one.
const GAP_SERIALISATIONS: u64 = 2;
/// Minimum time between two answers of a slow hop, ns; rounds that suffice there for an estimate.
const SLOW_NS: u64 = 400_000_000;
const SLOW_ROUNDS: u64 = 4;
/// Rounds per small probe for the round-trip time of a hop that limits its answers.
const SMALL_ROUNDS: u64 = 4;

impl PathProber<'_> {
    /// Probes the hops with packets of up to `largest` bytes until the links' capacities are as accurate as wanted, or the time is over.
    pub(super) fn measure_capacities(&mut self, largest: u32) -> Result<(), ProbeError> {
        self.enter(PathPhase::Capacity);
        self.exchange.set_gap_ns(FIRST_GAP_NS);
        self.vps = Some(VpsSettings {
            confidence: self.settings.confidence,
            accuracy: self.settings.accuracy,
            primers: Primers {
                packets: self.settings.primers,
                bytes: largest + FRAME_OVERHEAD,
            },
            ..VpsSettings::default()
        });
        let sizes = sizes(largest);
        for ttl in self.table.passing(self.settings.target) {
            self.ask_round(ttl, Priming::Unprimed, &sizes);
        }
        let mut evaluated_ns = 0;
        let mut wanted = BTreeMap::new();
        while !self.is_stopped() && self.exchange.elapsed_ns() < self.time_ns() {
            for outcome in self.advance()? {
                if outcome.request.flow == MEASURED_FLOW && outcome.request.bytes > SMALL_BYTES {
                    self.capacities.take(&outcome);
                }
            }
            let now = self.exchange.elapsed_ns();
            if now - evaluated_ns >= EVALUATION_NS || self.exchange.is_idle() {
                evaluated_ns = now;
                wanted = self.evaluate();
                if self.shows_nothing_in_time() {
                    break;
                }
                if wanted.is_empty() && self.exchange.is_idle() {
                    break;
                }
            }
            self.refill(&mut wanted, &sizes);
        }
        Ok(())
    }

    /// `true` where hops tell no capacity in the time that they are given to show one.
    fn shows_nothing_in_time(&self) -> bool {
        let has_capacity = |path: &PathCapacities| {
            let mut links = path.links.iter();
            links.any(|link| link.statement.capacity.is_some())
        };
        let elapsed = Duration::from_nanos(self.exchange.elapsed_ns());
        let is_late = self.settings.patience.is_some_and(|max| elapsed >= max);
        is_late && !self.path.as_ref().is_some_and(has_capacity)
    }

    /// The time until which is probed, ns.
    fn time_ns(&self) -> u64 {
        u64::try_from(self.settings.time.as_nanos()).unwrap_or(u64::MAX)
    }

    /// The settings of estimates: where hops answer seldom, a few probes of each kind are to do before there are more of one.
    fn vps_settings(&self) -> Option<VpsSettings> {
        let mut hops = self.table.passing(self.settings.target).into_iter();
        let is_slow = |ttl| {
            let interval_ns = self.exchange.limited_interval_ns(ttl);
            interval_ns.is_some_and(|interval_ns| interval_ns >= SLOW_NS)
        };
        let is_any_slow = hops.any(is_slow);
        self.vps.map(|vps| VpsSettings {
            min_rounds: if is_any_slow {
                SLOW_ROUNDS
            } else {
                vps.min_rounds
            },
            ..vps
        })
    }

    /// Computes the capacities, shows them, and returns the rounds that are still wanted.
    fn evaluate(&mut self) -> BTreeMap<(u8, Priming), u64> {
        let Some(vps) = self.vps_settings() else {
            return BTreeMap::new();
        };
        let path = self.capacities.evaluate(&vps);
        let wanted = demands(&path, self.capacities.readings(), &vps);
        self.path = Some(path);
        let is_primed = |demand: &HopDemand| demand.priming == Priming::Primed;
        self.phase = if wanted.iter().any(is_primed) {
            PathPhase::PrimedCapacity
        } else {
            PathPhase::Capacity
        };
        self.adapt_gap();
        // How many more rounds the links will want shows only as they are measured: the time that is set is the one bound.
        let left = self.time_ns().saturating_sub(self.exchange.elapsed_ns());
        self.show(Some(Duration::from_nanos(left)));
        wanted
            .into_iter()
            .map(|demand| ((demand.ttl, demand.priming), demand.rounds))
            .collect()
    }

    /// Spaces probes so that they rarely meet one another on the narrow link.
    fn adapt_gap(&mut self) {
        let min_rtt = |ttl, is_large: bool| {
            let largest = self
                .capacities
                .readings()
                .iter()
                .map(|one| one.probe_bytes)
                .max();
            let of_size = self.capacities.readings().iter().filter(|one| {
                one.ttl == ttl && one.priming == Priming::Unprimed && {
                    let is_largest = Some(one.probe_bytes) == largest;
                    is_largest == is_large
                }
            });
            of_size.filter_map(|one| Some(one.answer?.rtt_ns)).min()
        };
        let serialisation = |ttl| {
            let (small, large) = (min_rtt(ttl, false)?, min_rtt(ttl, true)?);
            Some(large.saturating_sub(small))
        };
        let hops = self.table.passing(self.settings.target);
        let longest = hops.into_iter().filter_map(serialisation).max();
        if let Some(longest) = longest {
            // The difference of two sizes is a part of the serialisation time of the larger one.
            let primers = match self.phase {
                PathPhase::PrimedCapacity => 1 + u64::from(self.settings.primers),
                _ => 1,
            };
            let gap = longest * GAP_SERIALISATIONS * primers;
            self.exchange.set_gap_ns(gap.clamp(GAP_NS.0, GAP_NS.1));
        }
    }

    /// Queues rounds for hops that have none left and want some.
    fn refill(&mut self, wanted: &mut BTreeMap<(u8, Priming), u64>, sizes: &[u32]) {
        let is_done =
            |exchange: &super::exchange::ProbeExchange<'_>, ttl| exchange.pending(ttl) == 0;
        let due: Vec<(u8, Priming)> = wanted
            .iter()
            .filter(|((ttl, _), rounds)| **rounds > 0 && is_done(&self.exchange, *ttl))
            .map(|(key, _)| *key)
            .collect();
        for (ttl, priming) in due {
            for _ in 0..ROUNDS {
                let Some(rounds) = wanted
                    .get_mut(&(ttl, priming))
                    .filter(|rounds| **rounds > 0)
                else {
                    break;
                };
                *rounds -= 1;
                self.ask_round(ttl, priming, sizes);
            }
        }
    }

    /// Queues one probe of each size to a hop, in random order, and a small one for its round-trip time.
    fn ask_round(&mut self, ttl: u8, priming: Priming, sizes: &[u32]) {
        let mut order: Vec<u32> = sizes.to_vec();
        let is_limited = self.exchange.limited_interval_ns(ttl).is_some();
        if priming == Priming::Unprimed && !(is_limited && self.rng.below(SMALL_ROUNDS) > 0) {
            order.push(SMALL_BYTES);
        }
        for at in (1..order.len()).rev() {
            order.swap(at, self.rng.below(at as u64 + 1) as usize);
        }
        for bytes in order {
            self.exchange.ask(ProbeRequest {
                flow: MEASURED_FLOW,
                ttl,
                bytes,
                priming,
            });
        }
    }
}

/// The sizes of probes on a path that takes packets of up to `largest` bytes.
fn sizes(largest: u32) -> Vec<u32> {
    let smallest = if largest >= MIN_BYTES + MIN_SPAN {
        MIN_BYTES
    } else {
        SMALL_BYTES + 1
    };
    let span = largest.saturating_sub(smallest);
    (0..SIZES)
        .map(|nth| smallest + span * nth / (SIZES - 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_span_what_the_path_takes() {
        let usual = sizes(1500);
        assert_eq!((usual[0], usual[5], usual.len()), (562, 1500, 6));
        assert!(usual.is_sorted());
        assert_eq!(sizes(600)[0], SMALL_BYTES + 1);
        assert_eq!(sizes(40).len(), 6);
    }
}
