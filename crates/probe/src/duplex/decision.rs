//! The duplex of a path, decided.

use super::counter_evidence::{CounterEvidence, counter_evidence};
use super::end_link::{EndLink, EndLinkState};
use super::goodputs::from_goodputs;
use super::light_evidence::{LightEvidence, light_evidence};
use super::mismatch::mismatch;
use super::readings::{DuplexReadings, EachWay, EndErrors};
use super::statement::{DuplexFinding, DuplexStatement, LinkSide};
use crate::rate_estimate::Confidence;
use caudal_core::units::BitRate;

impl DuplexStatement {
    /// The decision, from the conclusive evidence to the indirect.
    ///
    /// Interfaces of 1 Gbit/s and more at both ends of a path of more than 500 Mbit/s have no half duplex. Then counters of late
    /// collisions and CRC errors decide, where the interface that counts them may be an end of a mismatch; then losses that appear only
    /// in both directions at once; then the sum of the saturating goodputs. What the interfaces of both ends report of themselves supports
    /// or contradicts each of these, and decides where nothing was measured.
    #[must_use]
    pub fn from_readings(readings: &DuplexReadings) -> Self {
        if let Some(statement) = gigabit(readings) {
            return statement;
        }
        let light = readings.light.map(|light| light_evidence(&light));
        let light_is_clean = matches!(light, Some(LightEvidence::Clean));
        if let Some(statement) = from_counters(readings, light_is_clean) {
            return statement;
        }
        match light {
            Some(LightEvidence::LossTogether(loss)) => match radio(readings) {
                Some(side) => Self::cannot_tell(&format!(
                    "{:.1} % are lost in both directions at once only, and the {side} end's interface is a radio, whose channel both directions share",
                    100.0 * loss
                )),
                None => mismatch(readings, loss),
            },
            Some(LightEvidence::Nothing(cause)) => Self::cannot_tell(&cause),
            Some(LightEvidence::Clean) | None => from_goodputs(readings, light_is_clean),
        }
    }
}

impl DuplexReadings {
    /// `true` where runs add nothing: at the rates of the interfaces half duplex does not exist.
    #[must_use]
    pub fn excludes_half_duplex(&self) -> bool {
        gigabit(self).is_some()
    }
}

/// The end whose interface is a radio.
fn radio(readings: &DuplexReadings) -> Option<LinkSide> {
    let mut ends = readings.end_links();
    ends.find_map(|(side, link)| (link.state == EndLinkState::Wireless).then_some(side))
}

fn gigabit(readings: &DuplexReadings) -> Option<DuplexStatement> {
    let gigabit = BitRate::from_bps(1_000_000_000);
    let capacity = readings.capacity?;
    // A radio is half duplex at any rate, and the rate of an interface without hardware is invented.
    let is_cable = |(_, link): (LinkSide, EndLink)| {
        !matches!(link.state, EndLinkState::Wireless | EndLinkState::Virtual)
    };
    if !readings.end_links().all(is_cable) {
        return None;
    }
    let rate_of = |link: Option<EndLink>| {
        let link = link.filter(|link| link.state == EndLinkState::Gigabit)?;
        link.rate
    };
    let own = || Some([rate_of(readings.near_link)?, rate_of(readings.far_link)?]);
    let rates = readings.interface_rates.map(EachWay::both).or_else(own)?;
    let fast = rates.iter().all(|rate| *rate >= gigabit);
    (fast && capacity > BitRate::from_bps(500_000_000)).then(|| {
        let reason = format!(
            "both interfaces run at 1 Gbit/s or more and the path carries {capacity}: half duplex does not exist there"
        );
        DuplexStatement::new(DuplexFinding::Full, Confidence::High, reason)
    })
}

/// The half-duplex end that the counters of an end show, seen from the path, and by what.
fn half_by_counters(
    side: LinkSide,
    link: Option<EndLink>,
    errors: Option<EndErrors>,
) -> Option<(LinkSide, CounterEvidence)> {
    let evidence = counter_evidence(link.map(|link| link.state), errors?)?;
    let half = match evidence {
        CounterEvidence::HalfHere { .. } => side,
        CounterEvidence::HalfAtPartner { .. } => side.other(),
    };
    Some((half, evidence))
}

fn from_counters(readings: &DuplexReadings, light_is_clean: bool) -> Option<DuplexStatement> {
    let ends = [
        (LinkSide::Near, readings.near_link, readings.near_errors),
        (LinkSide::Far, readings.far_link, readings.far_errors),
    ];
    let [near, far] = ends.map(|(side, link, errors)| half_by_counters(side, link, errors));
    let statement = match (near, far) {
        (None, None) => return None,
        (Some(near), None) => from_counters_of(LinkSide::Near, near, readings.near_link),
        (None, Some(far)) => from_counters_of(LinkSide::Far, far, readings.far_link),
        (Some(near), Some(far)) => from_both_counters(near, far)?,
    };
    let counting = [
        readings.near_link.filter(|_| near.is_some()),
        readings.far_link.filter(|_| far.is_some()),
    ];
    let is_loaded = counting
        .into_iter()
        .flatten()
        .any(|link| readings.loads(link));
    if light_is_clean && is_loaded {
        return Some(DuplexStatement::cannot_tell(&format!(
            "{}, but both directions at once lose nothing at a light load, as they would on a mismatch",
            statement.reason
        )));
    }
    Some(statement)
}

/// What the counters of one end say.
fn from_counters_of(
    side: LinkSide,
    (half, evidence): (LinkSide, CounterEvidence),
    link: Option<EndLink>,
) -> DuplexStatement {
    let is_known = link.is_some_and(|link| link.state != EndLinkState::Unknown);
    let confidence = match evidence {
        // Only a half-duplex end has collisions; CRC errors have other causes where it is not known to be full duplex.
        CounterEvidence::HalfAtPartner { .. } if !is_known => Confidence::Medium,
        _ => Confidence::High,
    };
    DuplexStatement::new(
        DuplexFinding::Mismatch { half: Some(half) },
        confidence,
        counted(side, evidence),
    )
}

/// The counters of both ends: of one mismatch, seen from either of its ends, or of two.
fn from_both_counters(
    (near_half, near): (LinkSide, CounterEvidence),
    (far_half, far): (LinkSide, CounterEvidence),
) -> Option<DuplexStatement> {
    use CounterEvidence::HalfAtPartner;
    // CRC errors at both ends are those of a lossy path.
    if matches!((near, far), (HalfAtPartner { .. }, HalfAtPartner { .. })) {
        return None;
    }
    Some(DuplexStatement::new(
        DuplexFinding::Mismatch {
            half: Some(near_half).filter(|half| *half == far_half),
        },
        Confidence::High,
        format!(
            "{}, and {}",
            counted(LinkSide::Near, near),
            counted(LinkSide::Far, far)
        ),
    ))
}

fn counted(side: LinkSide, evidence: CounterEvidence) -> String {
    match evidence {
        CounterEvidence::HalfHere { late_collisions } => format!(
            "the {side} end counted {late_collisions} late collisions, which a link that both ends know to be half duplex does not have"
        ),
        CounterEvidence::HalfAtPartner { crc_errors } => format!(
            "the {side} end counted {crc_errors} CRC (FCS) errors while both directions were busy, and none before"
        ),
    }
}
