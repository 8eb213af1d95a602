//! The amount that a server sends for its client, which alone knows when it has it.

use caudal_core::sample::Counters;
use caudal_flow::{ByteBudget, FlowSet};
use caudal_wire::iperf3::Parameters;
use std::sync::Arc;

/// The time a client may take to end the test once its kernel has everything, before more is sent, ns: versions from 3.16 on
/// look for the end once a second.
const HOLD_NS: u64 = 1_500_000_000;

/// The bytes that a server's TCP senders send before they wait for their client: whole blocks, as clients from 3.16 on count
/// nothing else. After a warm-up the client counts anew, so that no amount ends it.
pub(super) fn reverse_budget(parameters: &Parameters) -> Arc<ByteBudget> {
    let length = u64::from(parameters.length.max(1));
    match parameters.end_bytes() {
        Some(bytes) if parameters.omit_s == 0 => {
            ByteBudget::extensible(bytes.div_ceil(length).saturating_mul(length))
        }
        _ => ByteBudget::new(None),
    }
}

/// The amount that a server sends: it goes on after that, until its client ends the test.
pub(super) struct ReverseAmount {
    /// The bytes the client waits for, where an amount ends its test.
    amount: Option<u64>,
    /// The bytes that are sent more, again and again, where the client has not ended its test: a block of each stream.
    more_bytes: u64,
    budget: Arc<ByteBudget>,
    /// The time since which the client's kernel has everything, ns.
    acknowledged_ns: Option<u64>,
}

impl ReverseAmount {
    pub(super) fn new(parameters: &Parameters, budget: Arc<ByteBudget>) -> Self {
        let sends = parameters.reverse || parameters.bidirectional;
        Self {
            amount: parameters.end_bytes().filter(|_| sends),
            more_bytes: u64::from(parameters.length) * u64::from(parameters.parallel),
            budget,
            acknowledged_ns: None,
        }
    }

    /// `true` while the budget may have to be extended.
    pub(super) fn is_watched(&self) -> bool {
        self.amount.is_some() && self.budget.may_grow()
    }

    /// `true` once this much was sent.
    pub(super) fn is_sent(&self, set: &FlowSet) -> bool {
        let sent = |counters| match counters {
            Counters::Sender(sender) => sender.bytes,
            Counters::Receiver(_) => 0,
        };
        self.amount.is_some_and(|amount| {
            let samples = set.sample(0);
            amount <= samples.iter().map(|sample| sent(sample.counters)).sum()
        })
    }

    /// Extends the budget at `now_ns` when the client has had everything for a while and has not ended the test.
    pub(super) fn check(&mut self, set: &FlowSet, now_ns: u64) {
        if !self.is_watched() || !self.budget.is_used_up() {
            return;
        }
        let is_acknowledged = set.sample(0).iter().all(|sample| match sample.counters {
            Counters::Sender(sender) => sender
                .tcp
                .and_then(|tcp| tcp.bytes_acked)
                .is_none_or(|acknowledged| acknowledged >= sender.bytes),
            Counters::Receiver(_) => true,
        });
        if !is_acknowledged {
            self.acknowledged_ns = None;
        } else if now_ns >= *self.acknowledged_ns.get_or_insert(now_ns) + HOLD_NS {
            self.budget.extend(self.more_bytes);
        }
    }
}
