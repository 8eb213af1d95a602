//! What the interfaces of both ends show by themselves.

use super::end_link::{EndLink, EndLinkState};
use super::mismatch::both_links_are_full;
use super::readings::DuplexReadings;
use super::shared_end::{SharedEnds, doubt};
use super::statement::{DuplexFinding, DuplexStatement, LinkSide};
use crate::rate_estimate::Confidence;

/// The duplex mode of a path without saturating runs.
pub(super) fn from_interfaces(readings: &DuplexReadings, light_is_clean: bool) -> DuplexStatement {
    let mismatch = one_cable_mismatch(readings).filter(|_| !light_is_clean);
    if let Some(statement) = mismatch {
        return statement;
    }
    let missing = if light_is_clean {
        "runs at a light load lose nothing, and there are no saturating ones"
    } else {
        "there were no runs between both ends, and the interfaces alone do not tell"
    };
    let ends = SharedEnds::of(readings, light_is_clean);
    if let Some(end) = ends.in_doubt {
        return DuplexStatement::cannot_tell(&format!("{missing}; {}", doubt(end)));
    }
    if let Some(end) = ends.agreed {
        return DuplexStatement::new(
            DuplexFinding::MatchedHalf,
            Confidence::Medium,
            end.to_string(),
        );
    }
    if both_links_are_full(readings) && readings.is_one_hop {
        return DuplexStatement::new(
            DuplexFinding::Full,
            Confidence::Medium,
            "the interfaces of both ends and their link partners are full duplex, and there is no router between them"
                .to_owned(),
        );
    }
    DuplexStatement::cannot_tell(missing)
}

/// The ends of one cable, as it looks: of one rate, one half duplex and the other full, and neither with a partner that negotiates.
fn one_cable_mismatch(readings: &DuplexReadings) -> Option<DuplexStatement> {
    let (near, far) = (readings.near_link?, readings.far_link?);
    let rate = near.rate.filter(|_| near.rate == far.rate)?;
    let is_mismatch = |half: EndLink, full: EndLink| {
        let fell_back_or_is_set = matches!(
            half.state,
            EndLinkState::ParallelHalf { .. } | EndLinkState::ForcedHalf
        );
        fell_back_or_is_set && full.state == EndLinkState::ForcedFull
    };
    let half = if is_mismatch(near, far) {
        LinkSide::Near
    } else if is_mismatch(far, near) {
        LinkSide::Far
    } else {
        return None;
    };
    let full = half.other();
    readings.is_one_hop.then(|| {
        DuplexStatement::new(
            DuplexFinding::Mismatch { half: Some(half) },
            Confidence::Medium,
            format!(
                "the interface of the {half} end runs half duplex with a partner that does not negotiate, that of the {full} end is set to full duplex, both at {rate}, and there is no router between them"
            ),
        )
    })
}
