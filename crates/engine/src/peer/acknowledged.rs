//! The receiver of a TCP upload, where the server reports nothing while the test runs.

use caudal_core::sample::{ReceiverCounters, SenderCounters};

/// The bytes that the server's kernel has acknowledged at `at_ns`, and has therefore received; `None` where this kernel does not
/// count them.
pub(super) fn acknowledged(sent: &SenderCounters, at_ns: u64) -> Option<ReceiverCounters> {
    // The opening of a connection counts as a byte.
    let acknowledged = sent.tcp?.bytes_acked?;
    Some(ReceiverCounters {
        bytes: acknowledged.min(sent.bytes),
        last_ns: at_ns,
        ..ReceiverCounters::default()
    })
}
