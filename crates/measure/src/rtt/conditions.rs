//! The measurements of a round-trip test and the conditions they were made under.

use caudal_core::echo::SizeSummary;
use caudal_core::units::BitRate;
use caudal_engine::RttOutcome;
use caudal_engine::peer::PeerInfo;

/// The measurements of a round-trip test and the conditions they were made under.
pub(super) struct RttConditions<'a> {
    pub(super) peer: &'a PeerInfo,
    pub(super) echo: &'a RttOutcome,
    pub(super) sizes: &'a [SizeSummary],
    /// The time the first message was sent, ns since 1970.
    pub(super) began_ns: Option<u64>,
    /// The seed of a random schedule.
    pub(super) seed: u64,
    /// Sizes that no datagram can have.
    pub(super) left_out: &'a [u32],
    /// `true` where the first message of each size counts with the others.
    pub(super) include_first: bool,
    pub(super) confidence: f64,
    /// The link's rate, where it was given.
    pub(super) link_rate: Option<BitRate>,
}
