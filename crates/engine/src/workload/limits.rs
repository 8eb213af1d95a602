//! The limits a server sets on tests.

use crate::options::TransferLocalOptions;
use caudal_flow::SessionLimits;
use std::time::Duration;

/// The limits a server sets on each test.
#[derive(Debug, Clone)]
pub(crate) struct ServerLimits {
    /// The limits that hold whatever the protocol.
    pub(crate) session: SessionLimits,
    /// The time a client may make no progress.
    pub(crate) idle_timeout: Duration,
    /// The files that a client may get and send.
    pub(crate) transfer: TransferLocalOptions,
}
