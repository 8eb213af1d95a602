//! The class of a link, from what unprimed and primed probes took.

use super::hop_slope::HopSlope;
use super::primed_model::primed_slope;
use super::settings::Primers;
use super::slope_step::SlopeStep;
use crate::cannot_tell::CannotTell;
use crate::rate_estimate::{Confidence, RateEstimate};
use caudal_core::units::BitRate;

/// Maximum relative half-width of a capacity of high confidence.
const HIGH_RELATIVE_HALF_WIDTH: f64 = 0.05;
/// Maximum relative half-width of a capacity of medium confidence.
const MEDIUM_RELATIVE_HALF_WIDTH: f64 = 0.15;
/// Minimum difference of two hypotheses, in half-widths of the primed slope, for it to decide between them.
const MIN_DISTANCE: f64 = 1.5;
/// Maximum relative half-width of a primed slope for a rate.
const MAX_PRIMED_HALF_WIDTH: f64 = 0.5;
/// Minimum ratio of the primed slope to the unprimed one behind a shaper, for high confidence.
const SHAPED_CLEARLY: f64 = 3.0;

/// What a link does to probes.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkClass {
    /// Every packet takes its size divided by the capacity.
    Serialising,
    /// A token bucket or policer: single packets pass at once, several in a row at a rate.
    Shaped,
    /// The serialisation time is below what the readings resolve.
    TooFast,
    /// The hop answers no probe.
    Filtered,
    /// The capacity is that of several links in series, with a store-and-forward device between them that has no hop of its own.
    PerhapsHiddenSwitch,
    /// The readings support no statement.
    Undetermined(CannotTell),
}

/// A link with its class.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkStatement {
    /// The class.
    pub class: LinkClass,
    /// The confidence in the class.
    pub confidence: Confidence,
    /// The capacity; `None` where only a bound, or nothing, is known.
    ///
    /// Of a shaped link it is the minimum over the path so far: a faster shaper behind a slower one does not show.
    pub capacity: Option<RateEstimate>,
    /// The rate the link has at least, where there is no capacity.
    pub at_least: Option<BitRate>,
    /// Why, in one sentence.
    pub reason: String,
}

/// What primed probes took to a hop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PrimedEvidence {
    pub(super) slope: HopSlope,
    pub(super) step: SlopeStep,
    /// Half the width of the slope's own interval, ns per byte.
    pub(super) half_width: f64,
}

impl PrimedEvidence {
    fn capacity(&self) -> Option<RateEstimate> {
        let slope = self.slope.ns_per_byte;
        // Where primers leave part of a bucket, small probes pass and large ones wait: no line, and no rate.
        if self.half_width > MAX_PRIMED_HALF_WIDTH * slope {
            return None;
        }
        let ends = (slope - self.half_width, slope + self.half_width);
        let (confidence, readings) = (self.step.confidence, self.slope.readings);
        RateEstimate::from_ns_per_byte(slope, ends, confidence, readings)
    }
}

/// The readings of a link before it is classified.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkEvidence<'a> {
    pub(super) step: SlopeStep,
    pub(super) primed: Option<PrimedEvidence>,
    /// The serialisation times of the links before, ns per byte; `None` when one of them does not simply serialise.
    pub(super) before: Option<&'a [f64]>,
    pub(super) primers: Primers,
}

impl LinkEvidence<'_> {
    pub(super) fn statement(&self) -> LinkStatement {
        if let Some(shaped) = self.shaped() {
            return shaped;
        }
        match self.step.capacity() {
            Some(capacity) => self.serialising(&capacity),
            None => self.too_fast(),
        }
    }

    /// Serialisation alone makes a primed slope grow by no more than an unprimed one; what goes beyond is a bucket that refills.
    fn shaped(&self) -> Option<LinkStatement> {
        let primed = self.primed?;
        if primed.step.low() <= self.step.high().max(0.0) {
            return None;
        }
        let capacity = primed.capacity()?;
        let is_clear = primed.step.low() > SHAPED_CLEARLY * self.step.high();
        Some(LinkStatement {
            class: LinkClass::Shaped,
            confidence: if is_clear {
                Confidence::High
            } else {
                Confidence::Medium
            },
            reason: format!(
                "a probe takes {:.0} ns per byte behind primers, and adds {:.1} when it comes alone: a bucket refills at {}",
                primed.slope.ns_per_byte,
                self.step.ns_per_byte.max(0.0),
                capacity.rate
            ),
            capacity: Some(capacity),
            at_least: None,
        })
    }

    fn serialising(&self, capacity: &RateEstimate) -> LinkStatement {
        let series = in_series(capacity);
        let split = self.split_in(series.map_or(2, |series| series.links));
        let by_width = confidence_of(capacity);
        let (class, confidence, reason) = match (series, split) {
            (_, Some(true)) => (
                LinkClass::PerhapsHiddenSwitch,
                by_width.max(Confidence::Medium),
                format!(
                    "primed probes take less than one link of {} would: {}",
                    capacity.rate,
                    series.map_or_else(|| "several links in series".to_owned(), describe)
                ),
            ),
            (Some(series), None) => (
                LinkClass::PerhapsHiddenSwitch,
                Confidence::Low,
                format!(
                    "{} is what {} read as; one link of that rate reads the same, and primed probes did not tell them apart",
                    capacity.rate,
                    describe(series)
                ),
            ),
            (_, Some(false)) => (
                LinkClass::Serialising,
                by_width,
                format!(
                    "the delay grows by {:.1} ns per byte, alone and behind primers",
                    self.step.ns_per_byte
                ),
            ),
            (None, None) => (
                LinkClass::Serialising,
                by_width,
                format!(
                    "the delay grows by {:.1} ns per byte",
                    self.step.ns_per_byte
                ),
            ),
        };
        LinkStatement {
            class,
            confidence,
            capacity: Some(*capacity),
            at_least: None,
            reason,
        }
    }

    /// Whether primed probes show the link as that many equal ones in series; `None` when they do not decide.
    fn split_in(&self, links: u64) -> Option<bool> {
        let (primed, before) = (self.primed?, self.before?);
        let predicted = |count: u64| {
            let share = self.step.ns_per_byte / count as f64;
            let here = std::iter::repeat_n(share, count as usize);
            let all: Vec<f64> = before.iter().copied().chain(here).collect();
            primed_slope(&all, self.primers, primed.slope.sizes_bytes)
        };
        let (one, several) = (predicted(1), predicted(links));
        let uncertain = MIN_DISTANCE * primed.half_width.hypot(self.step.half_width);
        if (one - several).abs() <= 2.0 * uncertain {
            return None;
        }
        let measured = primed.slope.ns_per_byte;
        if (measured - one).abs() <= uncertain {
            return Some(false);
        }
        (one - measured > uncertain).then_some(true)
    }

    fn too_fast(&self) -> LinkStatement {
        let at_least = self.step.at_least();
        let Some(rate) = at_least else {
            return undetermined(CannotTell::SlopeFalls);
        };
        let reason = match self.primed {
            Some(primed) => format!(
                "the delay grows by {:.1} ± {:.1} ns per byte, and by no more behind primers; a shaper faster than {}, \
                 or with a bucket above {} bytes, would not show",
                self.step.ns_per_byte.max(0.0),
                self.step.half_width,
                primed.capacity().map_or(rate, |capacity| capacity.rate),
                self.primers.packets * self.primers.bytes
            ),
            None => format!(
                "the delay grows by {:.1} ± {:.1} ns per byte; a shaper would show to primed probes only",
                self.step.ns_per_byte.max(0.0),
                self.step.half_width
            ),
        };
        LinkStatement {
            class: LinkClass::TooFast,
            // A shaper with a larger bucket explains the readings as well.
            confidence: Confidence::Low,
            capacity: None,
            at_least,
            reason,
        }
    }
}

/// The statement that there is none.
pub(super) fn undetermined(cause: CannotTell) -> LinkStatement {
    LinkStatement {
        reason: format!("cannot tell, because {cause}"),
        class: LinkClass::Undetermined(cause),
        confidence: Confidence::Low,
        capacity: None,
        at_least: None,
    }
}

/// The statement for a hop that answered none of `asked` probes.
pub(super) fn filtered(asked: u64) -> LinkStatement {
    LinkStatement {
        class: LinkClass::Filtered,
        confidence: if asked >= 20 {
            Confidence::High
        } else {
            Confidence::Medium
        },
        capacity: None,
        at_least: None,
        reason: format!("none of {asked} probes was answered"),
    }
}

fn describe(series: InSeries) -> String {
    format!("{} links of {} in series", series.links, series.rate)
}

fn confidence_of(capacity: &RateEstimate) -> Confidence {
    match capacity.relative_half_width() {
        Some(width) if width <= HIGH_RELATIVE_HALF_WIDTH => Confidence::High,
        Some(width) if width <= MEDIUM_RELATIVE_HALF_WIDTH => Confidence::Medium,
        _ => Confidence::Low,
    }
}

/// Rates of Ethernet, Mbit/s (IEEE 802.3 and, for 2.5 and 5 Gbit/s, 802.3bz).
const ETHERNET_MBPS: [u64; 6] = [10, 100, 1000, 2500, 5000, 10_000];
/// Maximum number of links in series that is considered.
const MAX_IN_SERIES: u64 = 4;
/// Maximum relative half-width for a match: rates a third apart must not both fit.
const MAX_RELATIVE_HALF_WIDTH: f64 = 0.1;

/// Links of one rate in series, with store-and-forward devices between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InSeries {
    pub(super) links: u64,
    pub(super) rate: BitRate,
}

/// The links of a standard rate in series that read as `capacity`; `None` when none do, or when one such link does.
///
/// k links of rate C read as C/k. Source: Prasad, Dovrolis and Mah, "The Effect of Layer-2 Store-and-Forward Devices on
/// Per-Hop Capacity Estimation", 2003.
pub(super) fn in_series(capacity: &RateEstimate) -> Option<InSeries> {
    capacity
        .relative_half_width()
        .filter(|width| *width <= MAX_RELATIVE_HALF_WIDTH)?;
    let rates = ETHERNET_MBPS.map(|mbps| BitRate::from_bps(mbps * 1_000_000));
    if rates.iter().any(|rate| capacity.contains(*rate)) {
        return None;
    }
    (2..=MAX_IN_SERIES)
        .flat_map(|links| rates.map(|rate| InSeries { links, rate }))
        .find(|series| capacity.contains(BitRate::from_bps(series.rate.bps() / series.links)))
}
