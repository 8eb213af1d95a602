//! The links of a path, and the narrow one among them.

use super::hop_slope::HopSlope;
use super::link_class::{
    LinkClass, LinkEvidence, LinkStatement, PrimedEvidence, filtered, undetermined,
};
use super::reading::{HopAnswer, HopReading, Priming};
use super::settings::VpsSettings;
use super::size_minima::ReplyHandling;
use super::slope_step::SlopeStep;
use crate::cannot_tell::CannotTell;
use crate::rate_estimate::{Confidence, RateEstimate};
use std::collections::{BTreeMap, BTreeSet};

/// Minimum unanswered probes for a hop to count as filtered.
const MIN_UNANSWERED: u64 = 10;
/// Minimum fall of the slope from one hop to the next, in standard errors, to be significant.
const FALLS: f64 = 4.0;

/// The link, or links, between two hops that answer.
#[derive(Debug, Clone, PartialEq)]
pub struct HopLink {
    /// The TTL of its far end.
    pub ttl: u8,
    /// The TTL of its near end: the nearest hop before that answers; `None` for the sender.
    ///
    /// Where hops in between do not answer, the link is all links between the two.
    pub from_ttl: Option<u8>,
    /// The probes sent to this hop, and those answered.
    pub asked_and_answered: (u64, u64),
    /// The slope of unprimed probes, where there is one.
    pub slope: Option<HopSlope>,
    /// The slope of primed probes, where there is one.
    pub primed_slope: Option<HopSlope>,
    /// What the slope grows by; `None` without a slope.
    pub step: Option<SlopeStep>,
    /// The number of hops whose slopes were made equal because they fell within chance; 1 for none but this.
    pub pooled: usize,
    /// What is said of it.
    pub statement: LinkStatement,
}

/// The link of the smallest capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct NarrowLink {
    /// The TTL of its far end.
    pub ttl: u8,
    /// Its capacity.
    pub capacity: RateEstimate,
    /// The links that may be as narrow, by the TTL of their far ends: their intervals overlap with this one, or nothing is known of them.
    pub contested_by: Vec<u8>,
}

/// The links of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathCapacities {
    /// The links, by TTL.
    pub links: Vec<HopLink>,
    /// The link of the smallest capacity, or why it is not known.
    pub narrow: Result<NarrowLink, CannotTell>,
}

impl PathCapacities {
    /// What the readings of all hops say, in any order.
    ///
    /// A confidence that is not between 0 and 1 counts as 0.95.
    #[must_use]
    pub fn from_readings(readings: &[HopReading], settings: &VpsSettings) -> Self {
        let (settings, z) = (&settings.with_possible_confidence(), settings.quantile());
        let ttls: BTreeSet<u8> = readings.iter().map(|reading| reading.ttl).collect();
        let slopes = |readings: &[HopReading], priming| -> HopSlopes {
            let slope = |ttl| HopSlope::from_readings(readings, ttl, priming, settings);
            ttls.iter().map(|&ttl| (ttl, slope(ttl))).collect()
        };
        let unprimed = slopes(readings, Priming::Unprimed);
        let without_replies = without_replies(readings, &unprimed);
        let mut path = PathInProgress {
            settings,
            z,
            unprimed: ordered(&unprimed),
            primed: slopes(&without_replies, Priming::Primed),
            before: None,
            serialisation: Some(Vec::new()),
        };
        let links: Vec<HopLink> = ttls
            .iter()
            .map(|&ttl| path.link(ttl, readings, unprimed.get(&ttl)))
            .collect();
        let narrow = narrow_link(&links);
        Self { links, narrow }
    }
}

/// The slope of each hop, or why there is none.
type HopSlopes = BTreeMap<u8, Result<HopSlope, CannotTell>>;

/// The primed readings without the time by which replies that grow with the probes are longer: nothing is sent before a reply, so that it
/// takes as long per byte as an unprimed probe, and nothing at all behind a shaper.
fn without_replies(readings: &[HopReading], unprimed: &HopSlopes) -> Vec<HopReading> {
    let primed = readings
        .iter()
        .filter(|reading| reading.priming == Priming::Primed);
    primed
        .map(|reading| {
            let slope = unprimed
                .get(&reading.ttl)
                .and_then(|slope| slope.as_ref().ok());
            let slope = slope.filter(|slope| slope.reply == ReplyHandling::AddedToProbe);
            let answer = reading.answer.map(|answer| match slope {
                Some(slope) => {
                    let reply_ns = slope.ns_per_byte.max(0.0) * f64::from(answer.reply_bytes);
                    HopAnswer {
                        rtt_ns: answer.rtt_ns.saturating_sub(reply_ns as u64),
                        reply_bytes: 0,
                    }
                }
                None => answer,
            });
            HopReading { answer, ..*reading }
        })
        .collect()
}

/// An unprimed slope after falls within chance were removed.
#[derive(Debug, Clone, Copy)]
struct OrderedSlope {
    slope: HopSlope,
    pooled: usize,
    /// `true` when the slope is below that of the hop before by more than chance.
    falls: bool,
    /// `true` when that of the hop after is.
    next_falls: bool,
}

/// The slopes that exist, made non-decreasing between falls that are no chance.
fn ordered(slopes: &BTreeMap<u8, Result<HopSlope, CannotTell>>) -> BTreeMap<u8, OrderedSlope> {
    let known: Vec<(u8, HopSlope)> = slopes
        .iter()
        .filter_map(|(ttl, slope)| Some((*ttl, *slope.as_ref().ok()?)))
        .collect();
    let falls = |before: &HopSlope, slope: &HopSlope| {
        let error = before.standard_error.hypot(slope.standard_error);
        slope.ns_per_byte < before.ns_per_byte - FALLS * error
    };
    let mut ordered = BTreeMap::new();
    let mut sections = known
        .chunk_by(|before, slope| !falls(&before.1, &slope.1))
        .peekable();
    let mut is_first = true;
    while let Some(section) = sections.next() {
        let weighted: Vec<(f64, f64)> = section
            .iter()
            .map(|(_, slope)| (slope.ns_per_byte, slope.standard_error.powi(-2)))
            .collect();
        let pooled = non_decreasing(&weighted);
        for (nth, ((ttl, slope), (ns_per_byte, count))) in section.iter().zip(pooled).enumerate() {
            let slope = OrderedSlope {
                slope: HopSlope {
                    ns_per_byte,
                    ..*slope
                },
                pooled: count,
                falls: nth == 0 && !is_first,
                next_falls: nth + 1 == section.len() && sections.peek().is_some(),
            };
            ordered.insert(*ttl, slope);
        }
        is_first = false;
    }
    ordered
}

/// The path up to the hop before.
struct PathInProgress<'a> {
    settings: &'a VpsSettings,
    z: f64,
    unprimed: BTreeMap<u8, OrderedSlope>,
    primed: BTreeMap<u8, Result<HopSlope, CannotTell>>,
    /// The last hop with a slope.
    before: Option<u8>,
    /// The serialisation times of the links so far, ns per byte; `None` after a link that does not simply serialise.
    serialisation: Option<Vec<f64>>,
}

impl PathInProgress<'_> {
    fn link(
        &mut self,
        ttl: u8,
        readings: &[HopReading],
        unprimed: Option<&Result<HopSlope, CannotTell>>,
    ) -> HopLink {
        let of_hop = readings.iter().filter(|reading| reading.ttl == ttl);
        let asked = of_hop.clone().count() as u64;
        let answered = of_hop.filter(|reading| reading.answer.is_some()).count() as u64;
        let mut link = HopLink {
            ttl,
            from_ttl: self.before,
            asked_and_answered: (asked, answered),
            slope: None,
            primed_slope: self.primed.get(&ttl).and_then(|slope| slope.clone().ok()),
            step: None,
            pooled: 1,
            statement: undetermined(CannotTell::NoReadings),
        };
        let Some(ordered) = self.unprimed.get(&ttl).copied() else {
            if let Some(Err(cause)) = unprimed {
                link.statement = undetermined(cause.clone());
            }
            if answered == 0 && asked >= MIN_UNANSWERED {
                link.statement = filtered(asked);
            }
            return link;
        };
        link.slope = Some(ordered.slope);
        link.pooled = ordered.pooled;
        let before = self.before.and_then(|ttl| self.unprimed.get(&ttl));
        let before = before.map(|before| before.slope);
        let step = self.step(before.as_ref(), &ordered.slope);
        link.step = Some(step);
        link.statement = self.statement(&ordered, step, link.primed_slope);
        self.add(ttl, &link.statement, step);
        link
    }

    fn step(&self, before: Option<&HopSlope>, slope: &HopSlope) -> SlopeStep {
        SlopeStep::between(before, slope, self.z, self.settings.confidence)
    }

    fn statement(
        &self,
        ordered: &OrderedSlope,
        step: SlopeStep,
        primed: Option<HopSlope>,
    ) -> LinkStatement {
        if ordered.falls {
            return undetermined(CannotTell::SlopeFalls);
        }
        let comparable = primed.filter(|primed| {
            primed.reply == ordered.slope.reply || primed.reply == ReplyHandling::OneSize
        });
        let primed_before = self
            .before
            .map(|ttl| self.primed.get(&ttl).and_then(|slope| slope.clone().ok()));
        let primed = match (comparable, primed_before) {
            (Some(slope), None) => Some((slope, None)),
            (Some(slope), Some(Some(before))) => Some((slope, Some(before))),
            _ => None,
        };
        let primed = primed.map(|(slope, before)| PrimedEvidence {
            slope,
            step: self.step(before.as_ref(), &slope),
            half_width: self.z * slope.standard_error,
        });
        let one_reply_size = ordered.slope.reply == ReplyHandling::OneSize;
        let evidence = LinkEvidence {
            step,
            primed,
            before: self.serialisation.as_deref().filter(|_| one_reply_size),
            primers: self.settings.primers,
        };
        let mut statement = evidence.statement();
        let is_measured = matches!(
            statement.class,
            LinkClass::Serialising | LinkClass::PerhapsHiddenSwitch
        );
        if !one_reply_size && is_measured {
            statement.confidence = statement.confidence.min(Confidence::Medium);
            statement.reason.push_str(
                "; answers grow with probes, and are taken to come back at the same rate",
            );
        }
        if ordered.next_falls {
            statement.confidence = Confidence::Low;
            statement
                .reason
                .push_str("; the slope falls at the next hop, so this one may be too high");
        }
        statement
    }

    fn add(&mut self, ttl: u8, statement: &LinkStatement, step: SlopeStep) {
        self.before = Some(ttl);
        let simply = matches!(
            statement.class,
            LinkClass::Serialising | LinkClass::TooFast | LinkClass::PerhapsHiddenSwitch
        );
        match &mut self.serialisation {
            Some(links) if simply => links.push(step.ns_per_byte.max(0.0)),
            _ => self.serialisation = None,
        }
    }
}

fn narrow_link(links: &[HopLink]) -> Result<NarrowLink, CannotTell> {
    if links.is_empty() {
        return Err(CannotTell::NoReadings);
    }
    let known = links
        .iter()
        .filter_map(|link| Some((link.ttl, link.statement.capacity?)));
    let (ttl, capacity) = known
        .min_by_key(|(_, capacity)| capacity.rate)
        .ok_or(CannotTell::NoCapacity)?;
    let may_be_as_narrow = |link: &&HopLink| {
        let least = link
            .statement
            .capacity
            .map(|other| other.low)
            .or(link.statement.at_least);
        let is_unknown = matches!(link.statement.class, LinkClass::Undetermined(_));
        let overlaps = least.is_some_and(|least| capacity.high.is_none_or(|high| least <= high));
        link.ttl != ttl && (is_unknown || overlaps)
    };
    let contested_by = links.iter().filter(may_be_as_narrow).map(|link| link.ttl);
    Ok(NarrowLink {
        ttl,
        capacity,
        contested_by: contested_by.collect(),
    })
}

/// The values nearest to `values` that never fall, by the pool-adjacent-violators algorithm; of each value how many it was pooled with.
///
/// Input are (value, weight) with weights above zero. Source: Barlow, Bartholomew, Bremner and Brunk, "Statistical Inference under
/// Order Restrictions", 1972, section 1.2.
pub(super) fn non_decreasing(values: &[(f64, f64)]) -> Vec<(f64, usize)> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(values.len());
    for (value, weight) in values {
        let mut block = (*value, *weight, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 > block.0) {
            let weight = before.1 + block.1;
            let value = (before.0 * before.1 + block.0 * block.1) / weight;
            block = (value, weight, before.2 + block.2);
        }
        blocks.push(block);
    }
    blocks
        .iter()
        .flat_map(|(value, _, count)| std::iter::repeat_n((*value, *count), *count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_fall_are_replaced_by_their_weighted_mean() {
        let values = [(1.0, 1.0), (4.0, 3.0), (2.0, 1.0), (6.0, 1.0)];
        let pooled = [(1.0, 1), (3.5, 2), (3.5, 2), (6.0, 1)];
        assert_eq!(non_decreasing(&values), pooled);
        assert!(non_decreasing(&[]).is_empty());
    }
}
