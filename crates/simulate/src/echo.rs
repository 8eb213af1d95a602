//! Messages that come back.

use caudal_link::moment::Moment;

use crate::outcome::RttSummary;
use crate::scenario::EchoClient;
use crate::span::{after, ns_between, whole_ns};

/// An answer over datagrams that takes longer is lost.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Where a client stands: one message at a time.
#[derive(Debug)]
pub(crate) struct Exchanges {
    left: Option<u64>,
    pause_ns: u64,
    /// Whether messages can be lost.
    gives_up: bool,
    /// The message that is out, and since when.
    out: Option<(u64, Moment)>,
    next: Option<Moment>,
    number: u64,
    pub(crate) done: u64,
    pub(crate) lost: u64,
    pub(crate) rtt: RttSummary,
}

impl Exchanges {
    pub(crate) fn new(client: &EchoClient, gives_up: bool) -> Self {
        Self {
            left: client.exchanges,
            pause_ns: whole_ns(client.pause),
            gives_up,
            out: None,
            next: None,
            number: 0,
            done: 0,
            lost: 0,
            rtt: RttSummary::default(),
        }
    }

    pub(crate) const fn start(&mut self, now: Moment) {
        self.next = Some(now);
    }

    pub(crate) const fn stop(&mut self) {
        self.left = Some(0);
        self.next = None;
    }

    /// Whether nothing is out and nothing will be.
    pub(crate) fn finished(&self) -> bool {
        self.out.is_none() && self.left == Some(0)
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        match self.out {
            Some((_, since)) if self.gives_up => Some(after(since, PATIENCE_NS)),
            Some(_) => None,
            None => self.next,
        }
    }

    /// The number of the message that leaves at `now`, if one does.
    pub(crate) fn wake(&mut self, now: Moment) -> Option<u64> {
        if let Some((_, since)) = self.out {
            if !self.gives_up || now < after(since, PATIENCE_NS) {
                return None;
            }
            self.out = None;
            self.lost += 1;
            self.next = Some(now);
        }
        self.next.filter(|next| *next <= now)?;
        self.next = None;
        if self.left == Some(0) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        let number = self.number;
        self.number += 1;
        self.out = Some((number, now));
        Some(number)
    }

    /// Message `number` came back; gives whether it was the one that is waited for.
    pub(crate) fn answered(&mut self, now: Moment, number: u64) -> bool {
        let Some((_, since)) = self.out.take_if(|(out, _)| *out == number) else {
            return false;
        };
        self.done += 1;
        self.rtt.record(ns_between(since, now));
        self.next = Some(after(now, self.pause_ns));
        true
    }

    /// Messages that left.
    pub(crate) const fn sent(&self) -> u64 {
        self.number
    }
}
