//! Which readings would make the capacities as accurate as wanted.

use super::hop_slope::HopSlope;
use super::link_class::LinkClass;
use super::path::{HopLink, PathCapacities};
use super::reading::{HopReading, Priming};
use super::settings::VpsSettings;
use crate::cannot_tell::CannotTell;
use caudal_core::units::BitRate;
use std::collections::BTreeMap;

/// Maximum rounds per hop.
const MAX_ROUNDS: u64 = 128;

/// The readings wanted of one hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HopDemand {
    /// The TTL.
    pub ttl: u8,
    /// Whether the probes are primed.
    pub priming: Priming,
    /// The rounds wanted, of one probe of each size; above zero.
    pub rounds: u64,
}

/// The readings that would bring every link of `path` to the accuracy of `settings`; none when that is reached or out of reach.
///
/// The number of rounds assumes that an interval narrows with the square root of the readings, and at most doubles what a hop has. A hop is
/// finished after 128 rounds. Primed probes are asked for where a link is too fast to measure or perhaps several, at both of its ends.
#[must_use]
pub fn demands(
    path: &PathCapacities,
    readings: &[HopReading],
    settings: &VpsSettings,
) -> Vec<HopDemand> {
    let mut wanted = Demands {
        min_rounds: settings.min_rounds,
        rounds: rounds_so_far(readings),
        wanted: BTreeMap::new(),
    };
    for link in &path.links {
        let before = path
            .links
            .iter()
            .find(|near| link.from_ttl == Some(near.ttl));
        wanted.unprimed(link, before, settings);
        wanted.primed(link, before, settings);
    }
    wanted
        .wanted
        .into_iter()
        .map(|((ttl, priming), rounds)| HopDemand {
            ttl,
            priming,
            rounds,
        })
        .collect()
}

/// The rounds that hops have had: the maximum number of probes of one size.
fn rounds_so_far(readings: &[HopReading]) -> BTreeMap<(u8, Priming), u64> {
    let mut sent: BTreeMap<(u8, Priming, u32), u64> = BTreeMap::new();
    for reading in readings {
        let key = (reading.ttl, reading.priming, reading.probe_bytes);
        *sent.entry(key).or_default() += 1;
    }
    let mut rounds = BTreeMap::new();
    for ((ttl, priming, _), count) in sent {
        let so_far = rounds.entry((ttl, priming)).or_default();
        *so_far = count.max(*so_far);
    }
    rounds
}

struct Demands {
    min_rounds: u64,
    rounds: BTreeMap<(u8, Priming), u64>,
    wanted: BTreeMap<(u8, Priming), u64>,
}

impl Demands {
    fn unprimed(&mut self, link: &HopLink, before: Option<&HopLink>, settings: &VpsSettings) {
        match &link.statement.class {
            LinkClass::Filtered | LinkClass::Shaped => {}
            LinkClass::Undetermined(CannotTell::AllEqual | CannotTell::SizesTooAlike { .. }) => {}
            LinkClass::Undetermined(_) => self.want(link.ttl, Priming::Unprimed, self.min_rounds),
            LinkClass::TooFast => {
                let resolved = link.statement.at_least.map(BitRate::as_f64);
                let limit = link.slope.map(|slope| resolvable_bps(&slope, settings));
                let excess = match (resolved, limit) {
                    (Some(resolved), Some(limit)) if resolved < limit => limit / resolved,
                    _ => 1.0,
                };
                self.narrow(link, before, Priming::Unprimed, excess);
            }
            LinkClass::Serialising | LinkClass::PerhapsHiddenSwitch => {
                let capacity = link.statement.capacity;
                let width = capacity.and_then(|capacity| capacity.relative_half_width());
                let excess = width.map_or(1.0, |width| width / settings.accuracy);
                self.narrow(link, before, Priming::Unprimed, excess);
            }
        }
    }

    fn primed(&mut self, link: &HopLink, before: Option<&HopLink>, settings: &VpsSettings) {
        let excess = match link.statement.class {
            LinkClass::TooFast | LinkClass::PerhapsHiddenSwitch => 1.0,
            LinkClass::Shaped => {
                let capacity = link.statement.capacity;
                let width = capacity.and_then(|capacity| capacity.relative_half_width());
                width.map_or(1.0, |width| width / settings.accuracy)
            }
            _ => return,
        };
        self.narrow(link, before, Priming::Primed, excess);
    }

    /// Asks for what narrows the interval of a link by the factor `excess`, at the end whose slope is less certain, or both.
    fn narrow(&mut self, link: &HopLink, before: Option<&HopLink>, priming: Priming, excess: f64) {
        let error = |link: &HopLink| {
            let slope = match priming {
                Priming::Unprimed => link.slope,
                Priming::Primed => link.primed_slope,
            };
            slope.map_or(f64::INFINITY, |slope| slope.standard_error)
        };
        let (here, near) = (error(link), before.map_or(0.0, error));
        for (ttl, own, other) in [
            (Some(link.ttl), here, near),
            (before.map(|near| near.ttl), near, here),
        ] {
            let Some(ttl) = ttl else { continue };
            let so_far = self.rounds_of(ttl, priming);
            if so_far < self.min_rounds {
                self.want(ttl, priming, self.min_rounds - so_far);
            } else if excess > 1.0 && own >= other / 2.0 {
                let more = so_far as f64 * (excess * excess - 1.0).min(1.0);
                self.want(ttl, priming, more.ceil() as u64);
            }
        }
    }

    fn rounds_of(&self, ttl: u8, priming: Priming) -> u64 {
        self.rounds.get(&(ttl, priming)).copied().unwrap_or(0)
    }

    fn want(&mut self, ttl: u8, priming: Priming, rounds: u64) {
        let left = MAX_ROUNDS.saturating_sub(self.rounds_of(ttl, priming));
        let rounds = rounds.min(left);
        if rounds > 0 {
            let wanted = self.wanted.entry((ttl, priming)).or_default();
            *wanted = rounds.max(*wanted);
        }
    }
}

/// Maximum capacity that can be measured with minima of the resolution of the timestamps, bit/s: `8 ΔL / (4 s)`.
///
/// An error of s at either end of a size span ΔL turns a slope by 2 s / ΔL, and a capacity takes twice that.
fn resolvable_bps(slope: &HopSlope, settings: &VpsSettings) -> f64 {
    let (small, large) = slope.sizes_bytes;
    8e9 * (large - small) / (4.0 * settings.resolution_ns.max(1) as f64)
}
