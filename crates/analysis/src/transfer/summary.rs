//! What one transfer adds up to, from the accounts of both ends.

use caudal_core::plan::Direction;
use caudal_core::text::ExternalText;
use caudal_core::transfer::{TransferEnd, TransferSummary, TransferTimes};

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

    /// The times by the accounts of both ends.
    fn times(&self) -> TransferTimes {
        let TransferEnds { sender, receiver } = *self;
        let since = |later: Option<u64>, earlier: u64| later.map(|at| at.saturating_sub(earlier));
        let ends = [sender, receiver].into_iter().flatten();
        let mut handshakes = ends.map(|end| end.handshake_ns).filter(|ns| *ns > 0);
        let handshake_ns = handshakes.next().unwrap_or(0);
        let Some(end) = receiver else {
            return TransferTimes {
                handshake_ns,
                ..TransferTimes::default()
            };
        };
        // Where no byte arrived, there is nothing between the handshake and the writing.
        let arrived_ns = match end.last_byte_ns {
            0 => end.handshake_ns,
            last_byte_ns => last_byte_ns,
        };
        let written = end.written_ns.unwrap_or(arrived_ns);
        TransferTimes {
            handshake_ns,
            transfer_ns: since(Some(end.last_byte_ns), end.first_byte_ns),
            write_ns: since(end.written_ns, arrived_ns),
            sync_ns: since(end.synced_ns, written),
            verify_ns: since(end.verified_ns, end.synced_ns.unwrap_or(written)),
        }
    }

    /// The summary of a transfer with these accounts of both ends, of which `resumed_bytes` were there before.
    #[must_use]
    pub fn summary(self, resumed_bytes: u64, failure: Option<&ExternalText>) -> TransferSummary {
        let TransferEnds { sender, receiver } = self;
        let bytes = receiver.or(sender).map_or(0, |end| end.bytes);
        let of_ends = [sender, receiver].into_iter().flatten();
        let of_ends = of_ends.filter_map(|end| end.failure.as_ref());
        let failure = failure.into_iter().chain(of_ends).next().cloned();
        let time_ns = self.time_ns().filter(|_| failure.is_none());
        let lost = sender.and_then(|end| {
            let lost = end.lost?;
            Some(lost.saturating_sub(end.spurious.unwrap_or(0)))
        });
        let datagrams = sender.and_then(|end| end.datagrams);
        let cpu_ns_per_byte = |end: Option<&TransferEnd>| {
            let of_byte = end?.cpu_ns as f64 / bytes as f64;
            of_byte.is_finite().then_some(of_byte)
        };
        TransferSummary {
            bytes,
            resumed_bytes,
            time_ns,
            goodput_bps: time_ns
                .filter(|ns| *ns > 0)
                .map(|ns| bytes as f64 * 8e9 / ns as f64),
            times: self.times(),
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
        TransferEnds::new(direction, client, Some(server)).summary(0, None)
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
        assert_eq!(ends.summary(0, None), summary);
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
