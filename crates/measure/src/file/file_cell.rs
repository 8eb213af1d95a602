//! A cell of a comparison of file transfers.

use caudal_core::plan::{TransferPlan, TransferVia};

/// The bytes of the header of an RBT packet, which a datagram has before its payload.
const RBT_HEADER_BYTES: u32 = 20;

/// A cell of a comparison.
#[derive(Debug, Clone)]
pub struct FileCell {
    /// The position of its content.
    pub content: usize,
    /// A transfer of it.
    pub plan: TransferPlan,
}

impl FileCell {
    /// `true` when its bytes travel in datagrams.
    pub(super) const fn sends_datagrams(&self) -> bool {
        matches!(self.plan.via, TransferVia::Rbt(_) | TransferVia::Quic)
    }

    /// The payload of its datagrams, bytes; `None` for any protocol but RBT, whose datagrams have the size that was asked for.
    pub(super) const fn datagram_bytes(&self) -> Option<u32> {
        match &self.plan.via {
            TransferVia::Rbt(rbt) => Some(rbt.packet_bytes.saturating_add(RBT_HEADER_BYTES)),
            _ => None,
        }
    }

    /// Makes its datagrams fit a path that carries this payload whole.
    pub(super) fn fit(&mut self, payload: u32) {
        if let TransferVia::Rbt(rbt) = &mut self.plan.via {
            let room = payload.saturating_sub(RBT_HEADER_BYTES);
            rbt.packet_bytes = rbt.packet_bytes.min(room.max(1));
        }
    }
}
