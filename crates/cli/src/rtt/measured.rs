//! The measurements of a round-trip test.

use super::args::RttArgs;
use caudal_core::echo::SizeSummary;
use caudal_engine::peer::PeerInfo;
use caudal_engine::{EchoOutcome, StartedRun};

/// The measurements of a round-trip test and the conditions they were made under.
pub(super) struct Measured<'a> {
    pub(super) args: &'a RttArgs,
    pub(super) peer: &'a PeerInfo,
    pub(super) started: &'a StartedRun,
    pub(super) echo: &'a EchoOutcome,
    pub(super) sizes: &'a [SizeSummary],
    /// The time the first message was sent, ns since 1970.
    pub(super) began_ns: Option<u64>,
    /// The seed of a random schedule.
    pub(super) seed: u64,
    /// Sizes that no datagram can have.
    pub(super) left_out: &'a [u32],
}
