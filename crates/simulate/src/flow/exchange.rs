//! The schedule of an echo client: one message at a time.

use caudal_link::time::{SimTime, duration_to_ns};

use crate::result::{DelayStatistics, FlowDetails};
use crate::scenario::EchoClient;

/// Maximum wait for the answer to a message over UDP; then it counts as lost.
const REPLY_TIMEOUT_NS: u64 = 1_000_000_000;

/// The reaction to a message without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reliability {
    /// The transport retransmits: answers arrive sooner or later.
    Reliable,
    /// Messages can be lost: the client gives up after a timeout.
    Unreliable,
}

/// The state of an echo client, and its results.
#[derive(Debug)]
pub(super) struct EchoExchange {
    /// The number of messages still to be sent; `None` without a limit.
    remaining: Option<u64>,
    pause_ns: u64,
    reliability: Reliability,
    /// The message without an answer so far, and when it was sent.
    outstanding: Option<(u64, SimTime)>,
    /// The time of the next message.
    next: Option<SimTime>,
    /// The number of messages sent.
    sent: u64,
    answered: u64,
    lost: u64,
    rtt: DelayStatistics,
}

impl EchoExchange {
    pub(super) fn new(client: &EchoClient, reliability: Reliability) -> Self {
        Self {
            remaining: client.exchanges,
            pause_ns: duration_to_ns(client.pause),
            reliability,
            outstanding: None,
            next: None,
            sent: 0,
            answered: 0,
            lost: 0,
            rtt: DelayStatistics::default(),
        }
    }

    pub(super) const fn start(&mut self, now: SimTime) {
        self.next = Some(now);
    }

    /// Sends no more messages.
    pub(super) const fn stop(&mut self) {
        self.remaining = Some(0);
        self.next = None;
    }

    /// `true` when no message is outstanding or still to be sent.
    pub(super) fn is_finished(&self) -> bool {
        self.outstanding.is_none() && self.remaining == Some(0)
    }

    pub(super) fn deadline(&self) -> Option<SimTime> {
        match (self.outstanding, self.reliability) {
            (Some((_, since)), Reliability::Unreliable) => Some(since.plus_ns(REPLY_TIMEOUT_NS)),
            (Some(_), Reliability::Reliable) => None,
            (None, _) => self.next,
        }
    }

    /// The number of the message that is sent at `now`, if one is.
    pub(super) fn wake(&mut self, now: SimTime) -> Option<u64> {
        if self.outstanding.is_some() {
            if self.deadline().is_none_or(|timeout| now < timeout) {
                return None;
            }
            self.outstanding = None;
            self.lost += 1;
            self.next = Some(now);
        }
        self.next.filter(|next| *next <= now)?;
        self.next = None;
        if self.remaining == Some(0) {
            return None;
        }
        self.remaining = self.remaining.map(|remaining| remaining - 1);
        let number = self.sent;
        self.sent += 1;
        self.outstanding = Some((number, now));
        Some(number)
    }

    /// Takes the answer to message `number`; `false` when that message is not outstanding.
    pub(super) fn answer(&mut self, now: SimTime, number: u64) -> bool {
        let Some((_, since)) = self.outstanding.take_if(|(sent, _)| *sent == number) else {
            return false;
        };
        self.answered += 1;
        self.rtt.record(now.ns_since(since));
        self.next = Some(now.plus_ns(self.pause_ns));
        true
    }

    /// The number of messages sent.
    pub(super) const fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn details(&self) -> FlowDetails {
        FlowDetails::Echo {
            exchanges: self.answered,
            lost: self.lost,
            rtt: self.rtt.clone(),
        }
    }
}
