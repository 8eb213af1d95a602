//! The terms of a transfer over RBT, the same for both ends.

use caudal_core::plan::{ArqMode, RbtTransfer};
use caudal_flow::TestLimit;

/// The terms of a transfer over RBT, the same for both ends.
#[derive(Clone, Copy)]
pub(crate) struct RbtTerms<'a> {
    /// Packet size, ARQ, tier and granularity.
    pub(crate) settings: &'a RbtTransfer,
    /// The congestion control; CUBIC where none was asked for.
    pub(crate) congestion: Option<&'a str>,
    /// The maximum rate, bits a second.
    pub(crate) rate: Option<u64>,
    /// Bytes that the receiver has already.
    pub(crate) start_bytes: u64,
    /// The size of the content, as far as it is known.
    pub(crate) total_bytes: Option<u64>,
    /// What proves to the responder that the session's control channel stands behind the initiator.
    pub(crate) token: &'a [u8],
    /// `true` at the end that opened the socket.
    pub(crate) is_initiator: bool,
    /// The limits of a server, where this is one.
    pub(crate) limit: Option<&'a TestLimit>,
}

impl RbtTerms<'_> {
    /// The name of the congestion control.
    pub(super) fn congestion_name(&self) -> &str {
        self.congestion.unwrap_or("cubic")
    }
}

/// The way lost blocks are repeated, as the protocol has it.
pub(super) const fn arq(mode: ArqMode) -> caudal_rbt::Arq {
    match mode {
        ArqMode::Sack => caudal_rbt::Arq::Sack,
        ArqMode::NakBitmap => caudal_rbt::Arq::NakBitmap,
        ArqMode::GoBackN => caudal_rbt::Arq::GoBackN,
        ArqMode::StopAndWait => caudal_rbt::Arq::StopAndWait,
    }
}
