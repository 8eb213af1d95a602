//! The account that an end gives of trains.

use super::times::DatagramTimes;
use caudal_core::interface::{InterfaceLink, LinkErrors};
use serde::{Deserialize, Serialize};

/// The datagrams that an end has sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SentTrains {
    /// Datagrams that were handed to the kernel, those that it refused included.
    pub datagrams: u64,
    /// Of these, refused by this end's kernel.
    pub refused: u64,
    /// The longest that one left after it was due, ns.
    pub max_late_ns: u64,
    /// The time from the first to the last, ns.
    pub elapsed_ns: u64,
    /// The times at which they were handed to the kernel; absent where counts alone were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<DatagramTimes>,
}

/// The datagrams that an end has received.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReceivedTrains {
    /// Different datagrams that arrived.
    pub datagrams: u64,
    /// Those that arrived again.
    pub duplicates: u64,
    /// Those that arrived after one with a larger number.
    pub reordered: u64,
    /// The time from the first to the last, ns.
    pub elapsed_ns: u64,
    /// `true` when all times are those of the kernel, `false` when some are those at which this end read.
    pub kernel_times: bool,
    /// The times at which they arrived; absent where counts alone were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<DatagramTimes>,
}

/// What one end says of trains.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrainsAccount {
    /// What it has sent; absent where it was to send nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<SentTrains>,
    /// What it has received; absent where it was to receive nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<ReceivedTrains>,
    /// The link behind its interface towards the other end; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<InterfaceLink>>,
    /// What the counters of that interface grew by from the start to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_growth: Option<Box<LinkErrors>>,
}
