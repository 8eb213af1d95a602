//! The record of a round-trip test: every message with its round-trip time.

use super::outlier::SlowestRoundTrips;
use caudal_core::echo::ClockOffsetLine;
use caudal_core::loss::RefusedSends;
use caudal_core::marks::MarkCounter;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The time between two looks of a test at itself, ns.
const LOOK_NS: u64 = 100_000_000;

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
    /// Of the messages without a reply, those that this host's kernel refused to send.
    pub refused: RefusedSends,
    /// Replies that came after their message had been given up.
    pub late: u64,
    /// Replies to messages that had been answered already.
    pub duplicate: u64,
    /// The marks with which replies arrived (UDP).
    pub marks: MarkCounter,
    /// Messages beside the others that the kernel timestamped.
    pub stamped: Vec<StampedRoundTrip>,
    /// The longest round trips, the first message's included, with the kernel's account of them.
    pub slowest: SlowestRoundTrips,
}

impl EchoSeries {
    /// `true` where any message was answered, the first or another: the first may be lost like any.
    #[must_use]
    pub fn has_reply(&self) -> bool {
        let mut messages = self.first.iter().chain(&self.replies);
        messages.any(|reply| reply.ns().is_some())
    }

    /// Leaves out the messages that a stop of this program delayed, from `from_ns` to `to_ns` after the test's start: how many.
    ///
    /// On a schedule these are the ones that were due or under way then; else it is the longest, where that is as long.
    pub fn leave_out(&mut self, from_ns: u64, to_ns: u64) -> usize {
        let before = self.replies.len();
        if self.departures.len() == before {
            let is_delayed = |departure: &Departure, reply: &Reply| {
                let due_ns = departure.intended_ns;
                let until_ns = due_ns.saturating_add(reply.ns().unwrap_or(departure.late_ns));
                due_ns <= to_ns && until_ns >= from_ns
            };
            let kept: Vec<(Departure, Reply)> = self
                .departures
                .iter()
                .copied()
                .zip(self.replies.iter().copied())
                .filter(|(departure, reply)| !is_delayed(departure, reply))
                .collect();
            (self.departures, self.replies) = kept.into_iter().unzip();
        } else {
            // The stop began some time after this end was last seen to run.
            let stop_ns = to_ns.saturating_sub(from_ns);
            let min_ns = (stop_ns - stop_ns / 8).saturating_sub(LOOK_NS);
            let longest = self.replies.iter().enumerate();
            let longest = longest.max_by_key(|(_, reply)| reply.ns().unwrap_or(0));
            if let Some((nth, reply)) = longest
                && reply.ns() >= Some(min_ns)
            {
                self.replies.remove(nth);
            }
        }
        before - self.replies.len()
    }
}

/// The measurements of a round-trip test.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EchoRecord {
    /// Every size of every connection, by size and then by client.
    pub series: Vec<EchoSeries>,
    /// The offset between the clocks of both ends, where one-way delays were measured.
    pub clock: Option<ClockOffsetLine>,
}

impl EchoRecord {
    /// The one-way delays of a scheduled message, up and down, ns, after the clocks' offset is taken out.
    #[must_use]
    pub fn one_way_ns(&self, departure: &Departure) -> Option<(i64, i64)> {
        let at = i64::try_from(departure.intended_ns).unwrap_or(i64::MAX);
        let offset = self.clock.map(|clock| clock.offset_ns(at))?;
        let way = departure.one_way?;
        Some((
            way.up_ns.saturating_sub(offset),
            way.down_ns.saturating_add(offset),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn messages_due_while_this_program_stood_still_are_left_out() {
        let departure = |nth: u64| Departure {
            intended_ns: nth * 20 * MS,
            late_ns: 0,
            one_way: None,
        };
        let mut series = EchoSeries {
            replies: vec![Reply::after(MS); 100],
            departures: (0..100).map(departure).collect(),
            ..EchoSeries::default()
        };
        // 0.5 to 1.0 s: the 26 messages from 500 ms to 1000 ms.
        assert_eq!(series.leave_out(500 * MS, 1000 * MS), 26);
        assert_eq!((series.replies.len(), series.departures.len()), (74, 74));
        assert!(
            series
                .departures
                .iter()
                .all(|one| !(500 * MS..=1000 * MS).contains(&one.intended_ns))
        );
    }

    #[test]
    fn a_series_whose_first_message_alone_is_lost_has_replies() {
        let mut series = EchoSeries {
            first: Some(Reply::LOST),
            replies: vec![Reply::LOST, Reply::after(MS)],
            ..EchoSeries::default()
        };
        assert!(series.has_reply());
        series.replies.pop();
        assert!(!series.has_reply());
        series.first = Some(Reply::after(MS));
        assert!(series.has_reply());
    }

    #[test]
    fn a_round_trip_as_long_as_the_stop_is_left_out() {
        let mut replies = vec![Reply::after(MS); 10];
        replies[4] = Reply::after(4980 * MS);
        let mut series = EchoSeries {
            replies,
            ..EchoSeries::default()
        };
        assert_eq!(series.leave_out(2700 * MS, 7750 * MS), 1);
        assert!(series.replies.iter().all(|reply| reply.ns() == Some(MS)));
        assert_eq!(series.leave_out(2700 * MS, 7750 * MS), 0);
        // A stop of half a second in a wait of 0.1 s, on a path of 80 ms.
        series.replies = vec![Reply::after(80 * MS); 10];
        series.replies[4] = Reply::after(505 * MS);
        assert_eq!(series.leave_out(2900 * MS, 3500 * MS), 1);
        assert!(
            series
                .replies
                .iter()
                .all(|reply| reply.ns() == Some(80 * MS))
        );
    }
}
