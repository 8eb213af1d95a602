//! What an end of a transfer over RBT counted, as documents carry it.

use super::receiving::ReceivingLoop;
use super::sending::SendingLoop;
use crate::ContentSource;
use caudal_core::transfer::TransferEnd;
use caudal_rbt::{ReceiverStatus, SenderStatus};

/// The times of the handshake, ns of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct HandshakeTimes {
    /// The first datagram of it left or arrived.
    pub(super) began: u64,
    /// It was complete.
    pub(super) complete: u64,
}

impl HandshakeTimes {
    /// A time of the monotonic clock, ns after the beginning.
    const fn since(self, ns: u64) -> u64 {
        ns.saturating_sub(self.began)
    }

    /// The same; `None` for a time that has not come.
    fn since_known(self, ns: u64) -> Option<u64> {
        (ns > 0).then(|| self.since(ns))
    }
}

/// The account of a sending end.
pub(super) fn sent<S: ContentSource + ?Sized>(
    end: &SendingLoop<'_, S>,
    handshake: HandshakeTimes,
    start_bytes: u64,
) -> TransferEnd {
    let counts = end.sender.counts();
    let times = end.times;
    TransferEnd {
        bytes: end.sender.acked_bytes().saturating_sub(start_bytes),
        datagrams: Some(counts.sent),
        retransmitted: Some(counts.retransmitted),
        lost: Some(counts.lost),
        spurious: Some(counts.spurious),
        marked: Some(counts.marked),
        acknowledgements: Some(counts.acks),
        timeouts: Some(counts.ptos),
        calls: end.transmitter.calls,
        max_datagrams_per_call: Some(end.transmitter.max_datagrams_per_call),
        min_rtt_ns: Some(counts.min_rtt_ns).filter(|rtt| *rtt > 0),
        handshake_ns: handshake.since(handshake.complete),
        first_byte_ns: handshake.since(times.first_byte),
        last_byte_ns: handshake.since(times.last_byte),
        acknowledged_ns: handshake.since_known(times.acknowledged),
        verified_ns: handshake.since_known(times.verified),
        digest: end
            .source
            .digest()
            .filter(|_| end.sender.status() == SenderStatus::Complete)
            .map(hex::encode),
        tier: Some(end.transmitter.name().into()),
        notes: end
            .transmitter
            .notes
            .iter()
            .map(|note| note.as_str().into())
            .collect(),
        ..TransferEnd::default()
    }
}

/// The account of a receiving end.
pub(super) fn received(end: &ReceivingLoop<'_>, handshake: HandshakeTimes) -> TransferEnd {
    let counts = end.receiver.counts();
    let times = end.times;
    TransferEnd {
        bytes: counts.content_bytes,
        datagrams: Some(counts.received),
        duplicate: Some(counts.duplicates),
        marked: Some(counts.marked),
        corrupt: Some(counts.damaged),
        acknowledgements: Some(counts.acks_sent),
        calls: end.calls,
        handshake_ns: handshake.since(handshake.complete),
        first_byte_ns: handshake.since(times.first_byte),
        last_byte_ns: handshake.since(times.last_byte),
        written_ns: handshake.since_known(times.written),
        synced_ns: end
            .sink
            .synced_ns()
            .and_then(|at_ns| handshake.since_known(at_ns)),
        // Where no byte arrived, the answer is that to the end of the content, which waits for the writing.
        write_after_answer_ns: (times.written > 0 && times.last_byte > 0)
            .then(|| times.written.saturating_sub(times.last_byte)),
        verified_ns: handshake.since_known(times.verified),
        digest: end
            .receiver
            .claimed_digest()
            .filter(|_| end.receiver.status() == ReceiverStatus::Complete { matches: true })
            .map(hex::encode),
        ..TransferEnd::default()
    }
}
