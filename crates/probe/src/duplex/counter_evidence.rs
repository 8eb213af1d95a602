//! What the counters of an interface say of its link.

use super::end_link::EndLinkState;
use super::readings::EndErrors;

/// Minimum CRC errors for a duplex mismatch, all of them while both directions were busy.
///
/// Those of a bad cable fall into that phase alone by chance: with as many frames in both phases with a probability of `2^-10`.
const MIN_CRC_ERRORS: u64 = 10;

/// The end of a link that its counters show to be half duplex while the other is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CounterEvidence {
    /// The end that counted: its partner does not defer to it.
    HalfHere {
        /// The late collisions.
        late_collisions: u64,
    },
    /// The link partner: what is left of the frames that it broke off arrives here.
    HalfAtPartner {
        /// CRC errors while both directions were busy; before there were none.
        crc_errors: u64,
    },
}

/// What the counters of an end show, whose interface is in this `state`; `None` for nothing.
///
/// Late collisions occur at a half-duplex end, and not where the partner defers. An end whose partner negotiated half duplex with it has
/// them when its network is longer than allowed. An end whose partner negotiated full duplex counts CRC errors by a bad cable.
/// Interfaces that are no Ethernet hardware mean something else by these counters.
pub(super) fn counter_evidence(
    state: Option<EndLinkState>,
    errors: EndErrors,
) -> Option<CounterEvidence> {
    let state = state.unwrap_or(EndLinkState::Unknown);
    let may_be_half = state.is_half_without_agreement() || matches!(state, EndLinkState::Unknown);
    if errors.late_collisions > 0 && may_be_half {
        return Some(CounterEvidence::HalfHere {
            late_collisions: errors.late_collisions,
        });
    }
    let may_be_full = matches!(
        state,
        EndLinkState::ForcedFull | EndLinkState::Full | EndLinkState::Unknown
    );
    let is_only_together =
        errors.bad_frames_alone == 0 && errors.bad_frames_together >= MIN_CRC_ERRORS;
    (may_be_full && errors.late_collisions == 0 && is_only_together).then_some(
        CounterEvidence::HalfAtPartner {
            crc_errors: errors.bad_frames_together,
        },
    )
}
