//! What applications wrote and how long they waited for answers, as far as TCP shows it.

use caudal_core::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Runs of payload that end with a PSH flag or a FIN: Linux sets PSH on the last segment of a write that empties the send buffer.
///
/// Writes that follow one another closely share a run, and a large write may be cut into several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushRuns {
    /// Runs.
    pub count: u64,
    /// The smallest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<ByteCount>,
    /// The largest run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<ByteCount>,
    /// Runs by size, the smallest first; of more sizes than are kept, those seen first.
    pub sizes: Vec<PushRunSize>,
    /// Runs of other sizes.
    pub other_sizes: u64,
}

/// Runs of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PushRunSize {
    /// The payload of a run.
    pub bytes: ByteCount,
    /// Runs of this size.
    pub count: u64,
}

/// Requests and responses that take turns: the client sends, the server sends, and neither does while the other is at it.
///
/// A message is all that one end sends until the other answers with payload. The time runs from the first byte of a request to the last
/// byte of its response, at the point of capture: what the client saw only where `at_client` is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseTimes {
    /// Exchanges of a request and a response.
    pub exchanges: u64,
    /// `true` when the capture was made at the client, so that the times are those the client saw.
    pub at_client: bool,
    /// `true` when every request surely waited for the whole response before it.
    pub stop_and_wait: bool,
    /// Exchanges in which the client sent on while a response was under way: the next request, or the rest of a large one; TCP does not
    /// tell. Between other ends than those of an echo they are left out.
    pub overlapped: u64,
    /// From the first byte of the request to the last byte of the response: the round trip as an application measures it around write and
    /// read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<CapturedRtt>,
    /// From the last byte of the response to the first byte of the next request: how long the client waited by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<CapturedRtt>,
    /// By sizes, in the order in which they were first seen.
    pub sizes: Vec<ResponseSize>,
    /// Exchanges of other sizes than those kept.
    pub other_sizes: u64,
}

/// Exchanges of one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseSize {
    /// The payload of the request.
    pub request_bytes: ByteCount,
    /// The payload of the response.
    pub response_bytes: ByteCount,
    /// Exchanges.
    pub n: u64,
    /// The shortest of these times, µs.
    pub min_us: f64,
    /// Their mean, µs.
    pub mean_us: f64,
    /// The longest of them, µs.
    pub max_us: f64,
}

/// Times between frames and their answers. Minimum, mean and maximum are exact, percentiles within 1.6 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapturedRtt {
    /// The number of times.
    pub n: u64,
    /// The shortest, µs.
    pub min_us: f64,
    /// The mean, µs.
    pub mean_us: f64,
    /// The longest, µs.
    pub max_us: f64,
    /// The median, µs; absent with fewer than 3 times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_us: Option<f64>,
    /// The 95th percentile, µs; absent with fewer than 20 times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95_us: Option<f64>,
    /// The 99th percentile, µs; absent with fewer than 100 times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_us: Option<f64>,
}
