//! What one transfer adds up to, from the accounts of both ends.

use super::end::TransferEnd;
use crate::plan::Direction;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the time of a transfer went, ns. Each part is a difference on the clock of one end, so the clocks of both need not agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransferTimes {
    /// The handshake of the transfer's own connection, by the sender; where its clock begins behind it (a download over TCP), by the receiver.
    pub handshake_ns: u64,
    /// From the first file byte that arrived to the last (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer_ns: Option<u64>,
    /// From there until everything was handed to the file (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ns: Option<u64>,
    /// From there until everything was on the disk, where that was asked for (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_ns: Option<u64>,
    /// From there until the digest was computed and compared (receiver).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_ns: Option<u64>,
}

impl TransferTimes {
    /// The times by the accounts of both ends.
    fn new(sender: Option<&TransferEnd>, receiver: Option<&TransferEnd>) -> Self {
        let since = |later: Option<u64>, earlier: u64| later.map(|at| at.saturating_sub(earlier));
        let ends = [sender, receiver].into_iter().flatten();
        let mut handshakes = ends.map(|end| end.handshake_ns).filter(|ns| *ns > 0);
        let handshake_ns = handshakes.next().unwrap_or(0);
        let Some(end) = receiver else {
            return Self {
                handshake_ns,
                ..Self::default()
            };
        };
        // Where no byte arrived, there is nothing between the handshake and the writing.
        let arrived_ns = match end.last_byte_ns {
            0 => end.handshake_ns,
            last_byte_ns => last_byte_ns,
        };
        let written = end.written_ns.unwrap_or(arrived_ns);
        Self {
            handshake_ns,
            transfer_ns: since(Some(end.last_byte_ns), end.first_byte_ns),
            write_ns: since(end.written_ns, arrived_ns),
            sync_ns: since(end.synced_ns, written),
            verify_ns: since(end.verified_ns, end.synced_ns.unwrap_or(written)),
        }
    }
}

/// The accounts of both ends of a transfer, as far as they reported.
#[derive(Debug, Clone, Copy)]
pub struct TransferEnds<'e> {
    /// The sender's.
    pub sender: Option<&'e TransferEnd>,
    /// The receiver's.
    pub receiver: Option<&'e TransferEnd>,
}

impl<'e> TransferEnds<'e> {
    /// The accounts of a transfer in this direction.
    #[must_use]
    pub const fn new(
        direction: Direction,
        client: &'e TransferEnd,
        server: Option<&'e TransferEnd>,
    ) -> Self {
        let (sender, receiver) = match direction {
            Direction::Up => (Some(client), server),
            Direction::Down => (server, Some(client)),
        };
        Self { sender, receiver }
    }

    /// The time until everything was written, ns: by the sender's clock until the receiver's answer, with what the receiver still wrote
    /// after that; where the sender did not report, by the receiver's clock.
    #[must_use]
    pub fn time_ns(&self) -> Option<u64> {
        let answered = self.sender.and_then(|end| end.acknowledged_ns);
        let after = self.receiver.and_then(|end| end.write_after_answer_ns);
        answered
            .map(|ns| ns.saturating_add(after.unwrap_or(0)))
            .or_else(|| self.receiver?.written_ns.filter(|_| self.sender.is_none()))
    }
}

/// What one transfer adds up to. Counts that the protocol does not have, or that the other end did not report, are absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TransferSummary {
    /// File bytes that this transfer moved, without those that an earlier one had left.
    pub bytes: u64,
    /// File bytes that an earlier transfer had left.
    #[serde(default)]
    pub resumed_bytes: u64,
    /// The result: the time from the first packet of the handshake to the receiver's answer that everything was written, by the sender's
    /// clock; absent of a transfer that did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// File bytes per second of that time, bit/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bps: Option<f64>,
    /// Where the time went.
    pub times: TransferTimes,
    /// Datagrams with file bytes that were sent, repeated ones included (RBT, QUIC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Datagrams or segments that were sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmitted: Option<u64>,
    /// Datagrams that the sender took for lost and that did not arrive after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// These as a fraction of the datagrams sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Datagrams that the receiver's kernel dropped because the socket's buffer was full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// CPU time of the sender's thread for each file byte, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_cpu_ns_per_byte: Option<f64>,
    /// CPU time of the receiver's thread for each file byte, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_cpu_ns_per_byte: Option<f64>,
    /// `true` when the receiver's BLAKE3 digest of the whole content is the sender's.
    pub verified: bool,
    /// The reason why the transfer did not complete; such a transfer is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<ExternalText>,
}

impl TransferSummary {
    /// The summary of a transfer with these accounts of both ends, of which `resumed_bytes` were there before.
    #[must_use]
    pub fn new(ends: TransferEnds<'_>, resumed_bytes: u64, failure: Option<&ExternalText>) -> Self {
        let TransferEnds { sender, receiver } = ends;
        let bytes = receiver.or(sender).map_or(0, |end| end.bytes);
        let of_ends = [sender, receiver].into_iter().flatten();
        let of_ends = of_ends.filter_map(|end| end.failure.as_ref());
        let failure = failure.into_iter().chain(of_ends).next().cloned();
        let time_ns = ends.time_ns().filter(|_| failure.is_none());
        let lost = sender.and_then(|end| {
            let lost = end.lost?;
            Some(lost.saturating_sub(end.spurious.unwrap_or(0)))
        });
        let datagrams = sender.and_then(|end| end.datagrams);
        let cpu_ns_per_byte = |end: Option<&TransferEnd>| {
            let of_byte = end?.cpu_ns as f64 / bytes as f64;
            of_byte.is_finite().then_some(of_byte)
        };
        Self {
            bytes,
            resumed_bytes,
            time_ns,
            goodput_bps: time_ns
                .filter(|ns| *ns > 0)
                .map(|ns| bytes as f64 * 8e9 / ns as f64),
            times: TransferTimes::new(sender, receiver),
            datagrams,
            retransmitted: sender.and_then(|end| end.retransmitted),
            lost,
            loss: lost
                .zip(datagrams.filter(|count| *count > 0))
                .map(|(lost, sent)| lost as f64 / sent as f64),
            socket_drops: receiver.and_then(|end| end.socket_drops),
            sender_cpu_ns_per_byte: cpu_ns_per_byte(sender),
            receiver_cpu_ns_per_byte: cpu_ns_per_byte(receiver),
            verified: failure.is_none() && is_verified(sender, receiver),
            failure,
        }
    }

    /// The time of the transfer, s; `None` of one that is no result.
    #[must_use]
    pub fn time_s(&self) -> Option<f64> {
        let ns = self.time_ns.filter(|_| self.verified)?;
        Some(ns as f64 / 1e9)
    }
}

/// The receiver compared the digests, and where both ends report theirs they are equal.
fn is_verified(sender: Option<&TransferEnd>, receiver: Option<&TransferEnd>) -> bool {
    let digest = |end: Option<&TransferEnd>| end.and_then(|end| end.digest.clone());
    let has_compared = receiver.is_some_and(|end| end.verified_ns.is_some());
    match (digest(sender), digest(receiver)) {
        (Some(sent), Some(received)) => sent == received,
        _ => has_compared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender() -> TransferEnd {
        TransferEnd {
            bytes: 1_000_000,
            datagrams: Some(1010),
            retransmitted: Some(10),
            lost: Some(12),
            spurious: Some(2),
            handshake_ns: 1_000,
            last_byte_ns: 9_000_000,
            acknowledged_ns: Some(10_000_000),
            cpu_ns: 5_000_000,
            digest: Some("ab".to_owned()),
            ..TransferEnd::default()
        }
    }

    fn receiver() -> TransferEnd {
        TransferEnd {
            bytes: 1_000_000,
            socket_drops: Some(3),
            handshake_ns: 400,
            first_byte_ns: 500,
            last_byte_ns: 9_000_500,
            written_ns: Some(9_100_500),
            synced_ns: Some(9_600_500),
            verified_ns: Some(9_900_500),
            cpu_ns: 4_000_000,
            digest: Some("ab".to_owned()),
            ..TransferEnd::default()
        }
    }

    fn summary(
        direction: Direction,
        client: &TransferEnd,
        server: &TransferEnd,
    ) -> TransferSummary {
        TransferSummary::new(TransferEnds::new(direction, client, Some(server)), 0, None)
    }

    #[test]
    fn the_time_is_the_senders_and_its_parts_are_the_receivers() {
        let summary = summary(Direction::Up, &sender(), &receiver());
        assert_eq!(
            (summary.time_ns, summary.verified),
            (Some(10_000_000), true)
        );
        assert_eq!(summary.goodput_bps, Some(800e6));
        assert_eq!(
            summary.times,
            TransferTimes {
                handshake_ns: 1_000,
                transfer_ns: Some(9_000_000),
                write_ns: Some(100_000),
                sync_ns: Some(500_000),
                verify_ns: Some(300_000),
            }
        );
        assert_eq!(
            (summary.lost, summary.loss),
            (Some(10), Some(10.0 / 1010.0))
        );
        assert_eq!(summary.sender_cpu_ns_per_byte, Some(5.0));
        assert_eq!(summary.socket_drops, Some(3));
        let (client, server) = (receiver(), sender());
        let ends = TransferEnds::new(Direction::Down, &client, Some(&server));
        assert_eq!(TransferSummary::new(ends, 0, None), summary);
    }

    #[test]
    fn what_is_written_after_the_answer_is_part_of_the_time() {
        let receiver = TransferEnd {
            write_after_answer_ns: Some(100_000),
            ..receiver()
        };
        let summary = summary(Direction::Up, &sender(), &receiver);
        assert_eq!(summary.time_ns, Some(10_100_000));
    }

    #[test]
    fn what_did_not_complete_is_no_result() {
        let failed = TransferEnd {
            failure: Some("the digest differs".into()),
            ..receiver()
        };
        let found = summary(Direction::Up, &sender(), &failed);
        assert_eq!((found.time_s(), found.verified), (None, false));
        assert_eq!(found.failure, Some("the digest differs".into()));
        let other = TransferEnd {
            digest: Some("cd".to_owned()),
            ..receiver()
        };
        assert_eq!(summary(Direction::Up, &sender(), &other).time_s(), None);
    }

    #[test]
    fn an_empty_file_takes_time_and_has_no_cost_a_byte() {
        let empty = |end: TransferEnd| TransferEnd {
            bytes: 0,
            first_byte_ns: 0,
            last_byte_ns: 0,
            ..end
        };
        let receiver = TransferEnd {
            written_ns: Some(100_400),
            ..empty(receiver())
        };
        let found = summary(Direction::Up, &empty(sender()), &receiver);
        assert_eq!((found.time_s(), found.goodput_bps), (Some(0.01), Some(0.0)));
        assert_eq!(found.sender_cpu_ns_per_byte, None);
        // The writing follows the handshake, which took 400 ns at the receiver.
        assert_eq!(
            (found.times.transfer_ns, found.times.write_ns),
            (Some(0), Some(100_000))
        );
    }
}
