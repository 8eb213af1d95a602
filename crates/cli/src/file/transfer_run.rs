//! The one call that carries a transfer out.

use super::measured::TransferMeasured;
use crate::peer::CommandPeer;
use caudal_core::event::Event;
use caudal_core::plan::{Plan, TransferPlan};
use caudal_engine::{LocalOptions, RunError};
use caudal_sys::clock::realtime_ns;

/// Carries a transfer out.
///
/// # Errors
/// When it did not begin.
pub(super) fn run_transfer(
    peer: &mut CommandPeer,
    plan: TransferPlan,
    local: &LocalOptions,
    events: &mut dyn FnMut(Event),
) -> Result<TransferMeasured, RunError> {
    let began_ns = realtime_ns();
    let outcome = peer
        .peer_mut()
        .run(&Plan::Transfer(plan), local, events)?
        .into_transfer()
        .ok_or_else(|| RunError::Protocol("no file transfer".into()))?;
    Ok(TransferMeasured::new(outcome, began_ns))
}
