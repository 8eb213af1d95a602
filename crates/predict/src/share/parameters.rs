//! The parameters of a prediction for flows that share a link.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::units::{BitRate, ByteCount};

/// The output that flows share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentionPoint {
    /// An output at the receiver's end, into which several senders transmit.
    Receiver,
    /// The interface of one sender, which blocks its programs instead of dropping.
    Sender,
}

/// A policer with its token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucketPolicer {
    /// The rate it allows.
    pub rate: BitRate,
    /// The burst it allows.
    pub burst: ByteCount,
}

/// The parameters of flows that share a link.
#[derive(Debug, Clone, PartialEq)]
pub struct SharingParameters {
    /// The line rate of the shared output.
    pub rate: BitRate,
    /// The framing of the payload.
    pub framing: Framing,
    /// The number of TCP flows, which always have data to send.
    pub tcp: u32,
    /// The payload rates offered by the UDP flows.
    pub udp: Vec<BitRate>,
    /// The output that the flows share.
    pub contention_point: ContentionPoint,
    /// The round-trip times of TCP flows that differ in them.
    pub rtts: Vec<Duration>,
    /// A policer on the path.
    pub policer: Option<TokenBucketPolicer>,
    /// The number of paths that flows are distributed over.
    pub paths: Option<u32>,
}
