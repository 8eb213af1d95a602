//! What happens during a test, as it happens.

use caudal_core::plan::Plan;
use caudal_core::sample::Sample;
use std::time::Duration;

/// One thing that happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// Both sides hold this plan.
    Agreed {
        /// The plan within the server's limits.
        plan: Plan,
        /// What the server changed, in words.
        changed: Vec<String>,
    },
    /// Payload begins to flow.
    Started,
    /// A counter was read, here or at the peer.
    Sampled(Sample),
    /// One message size of an echo test is done for one client.
    Echoed {
        /// The client's number.
        client: u32,
        /// The message size, bytes.
        size: u32,
        /// Messages measured.
        messages: usize,
        /// Their mean round-trip time.
        mean: Duration,
    },
    /// All that was planned has been moved; the last counts are being exchanged.
    Ending,
}
