//! The record of a round-trip test: every message with its round-trip time.

use super::clock::ClockOffsetLine;
use super::outlier::SlowestRoundTrips;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The reply to one message: its round-trip time, or that it was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply(Option<NonZeroU64>);

impl Reply {
    /// No reply within the time allowed.
    pub const LOST: Self = Self(None);

    /// A reply complete after this long, ns; 0 counts as 1 ns.
    #[inline]
    #[must_use]
    pub fn after(ns: u64) -> Self {
        Self(Some(NonZeroU64::new(ns).unwrap_or(NonZeroU64::MIN)))
    }

    /// The round-trip time, ns; `None` when no reply came in time.
    #[inline]
    #[must_use]
    pub fn ns(self) -> Option<u64> {
        self.0.map(NonZeroU64::get)
    }
}

/// The departure of one scheduled message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// The time at which it was due, ns after the test's start.
    pub intended_ns: u64,
    /// The delay until it was handed to the kernel, ns.
    pub late_ns: u64,
    /// The transit time in each direction, where the message carried timestamps.
    pub one_way: Option<OneWayTransit>,
}

/// The transit times of one message in both directions, with the clocks' offset still in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneWayTransit {
    /// The server's clock at arrival less the client's at departure, ns.
    pub up_ns: i64,
    /// The client's clock at the reply's arrival less the server's at its departure, ns.
    pub down_ns: i64,
}

/// A round trip that the kernel timestamped: a message beside those that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampedRoundTrip {
    /// The round-trip time as the program measures it, ns.
    pub rtt_ns: u64,
    /// The time from the kernel's hand-over of the message to the device until it got the reply, ns.
    pub kernel_ns: u64,
    /// The time from the end of the call that sent the message until the kernel had handed the last of it to the device, ns: it
    /// waited in this host's send queue. 0 where it left during the call.
    #[serde(default)]
    pub queued_ns: u64,
}

/// The messages of one size over one connection, in the order they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EchoSeries {
    /// The connection's number.
    pub client: u32,
    /// Bytes in each message.
    pub size: u32,
    /// The first message of this size, which is not among the others; `None` when it was never sent.
    pub first: Option<Reply>,
    /// The others: as many as were sent.
    pub replies: Vec<Reply>,
    /// The departures of the others, when they were scheduled; as many as `replies` then.
    pub departures: Vec<Departure>,
    /// Replies that came after their message had been given up.
    pub late: u64,
    /// Replies to messages that had been answered already.
    pub duplicate: u64,
    /// Messages beside the others that the kernel timestamped.
    pub stamped: Vec<StampedRoundTrip>,
    /// The longest round trips, the first message's included, with the kernel's account of them.
    pub slowest: SlowestRoundTrips,
}

/// The measurements of a round-trip test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EchoRecord {
    /// Every size of every connection, by size and then by client.
    pub series: Vec<EchoSeries>,
    /// The offset between the clocks of both ends, where one-way delays were measured.
    pub clock: Option<ClockOffsetLine>,
}
