//! An end of the path whose link is known to carry one direction at a time.

use super::end_link::{EndLink, EndLinkState};
use super::readings::DuplexReadings;
use super::statement::LinkSide;
use std::fmt;

/// An end whose link carries one direction at a time, as its interface reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedEnd {
    side: LinkSide,
    is_radio: bool,
}

impl fmt::Display for SharedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = self.side;
        if self.is_radio {
            write!(
                f,
                "the {side} end's interface is a radio, which both directions share"
            )
        } else {
            write!(f, "the {side} end's interface runs half duplex")
        }
    }
}

/// What the interfaces of both ends say of links that carry one direction at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedEnds {
    /// An end that is half duplex with the knowledge of its partner.
    pub(super) agreed: Option<SharedEnd>,
    /// An end on whose link a mismatch is not excluded.
    pub(super) in_doubt: Option<(LinkSide, EndLink)>,
}

impl SharedEnds {
    /// The ends by their interfaces. Where the runs show no mismatch (`runs_are_clean`), it is excluded on a link that they loaded.
    pub(super) fn of(readings: &DuplexReadings, runs_are_clean: bool) -> Self {
        let mut ends = Self {
            agreed: None,
            in_doubt: None,
        };
        for (side, link) in readings.end_links() {
            let is_radio = link.state == EndLinkState::Wireless;
            let mut is_agreed = is_radio || link.state == EndLinkState::NegotiatedHalf;
            if link.state.half_of_mismatch(side).is_some() {
                let is_excluded = runs_are_clean && readings.loads(link);
                is_agreed = is_excluded && link.state.is_half_without_agreement();
                if !is_excluded {
                    ends.in_doubt = ends.in_doubt.or(Some((side, link)));
                }
            }
            if is_agreed {
                ends.agreed = ends.agreed.or(Some(SharedEnd { side, is_radio }));
            }
        }
        ends
    }
}

/// Why a mismatch on the link of an end is not excluded, as its interface reports.
pub(super) fn doubt((side, link): (LinkSide, EndLink)) -> String {
    let mode = match link.state {
        EndLinkState::ForcedFull => {
            "is set to full duplex without autonegotiation, and its partner may have fallen back to half duplex"
        }
        EndLinkState::ParallelHalf { .. } => {
            "fell back to half duplex because its partner does not negotiate, which may be set to full duplex"
        }
        _ => "runs half duplex, and whether its partner does is not known",
    };
    format!("the {side} end's interface {mode}")
}
