//! What both ends are to measure.

use crate::test_peer::PeerRequest;
use std::time::Duration;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct EndsRequest {
    /// The server at the other end.
    pub server: PeerRequest,
    /// `true` where nothing is to be measured without it.
    pub is_required: bool,
    /// `true` to tell the duplex mode as far as this end knows it, where the other takes no part.
    pub tells_own_duplex: bool,
    /// `true` for capacities as far as the duplex mode takes them, and no round trips.
    pub rough: bool,
    /// `true` to measure the available bandwidth.
    pub available: bool,
    /// `true` to tell the duplex mode.
    pub duplex: bool,
    /// The throughput of TCP by window; `None` for none.
    pub throughput: Option<WindowTestRequest>,
    /// The confidence of intervals.
    pub confidence: f64,
    /// The seed of random gaps.
    pub seed: u64,
}

/// The throughput of TCP that is asked for.
#[derive(Debug, Clone)]
pub struct WindowTestRequest {
    /// The measured part of each run.
    pub run: Duration,
    /// The flows of the runs with several.
    pub flows: u32,
    /// The congestion control asked for.
    pub congestion: Option<String>,
}
