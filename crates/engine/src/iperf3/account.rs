//! What one end of an iperf3 test has counted, in the form both ends exchange it.

use crate::carrier::Carrier;
use caudal_core::sample::{Counters, ReceiverCounters, Sample, SenderCounters, TcpSnapshot};
use caudal_wire::iperf3::StreamResult;

/// The readings at the start of a test: nothing has been counted then, however late they are made.
#[must_use]
pub(super) fn beginning(carrier: &Carrier) -> Vec<Sample> {
    let mut samples = carrier.sample(0);
    for sample in &mut samples {
        sample.at_ns = 0;
        sample.counters = match sample.counters {
            Counters::Sender(now) => Counters::Sender(SenderCounters {
                cpu_ns: now.cpu_ns,
                cpu_wait_ns: now.cpu_wait_ns,
                tcp: now.tcp.map(|tcp| TcpSnapshot {
                    retransmits: 0,
                    retransmitted_bytes: tcp.retransmitted_bytes.map(|_| 0),
                    ..tcp
                }),
                ..SenderCounters::default()
            }),
            Counters::Receiver(now) => Counters::Receiver(ReceiverCounters {
                cpu_ns: now.cpu_ns,
                cpu_wait_ns: now.cpu_wait_ns,
                ..ReceiverCounters::default()
            }),
        };
    }
    samples
}

/// The result of one stream between the end of the warm-up and the end.
///
/// `sent` is how many datagrams its sender says it has sent: what is missing behind the last that came
/// counts as lost too.
#[must_use]
pub(super) fn result(id: u32, base: &Sample, last: &Sample, sent: Option<u64>) -> StreamResult {
    let start = StreamResult {
        id,
        start_s: Some(0.0),
        end_s: Some(last.at_ns.saturating_sub(base.at_ns) as f64 / 1e9),
        omitted_errors: Some(0),
        omitted_packets: Some(0),
        ..StreamResult::default()
    };
    match (base.counters, last.counters) {
        (Counters::Sender(base), Counters::Sender(last)) => StreamResult {
            bytes: last.bytes.saturating_sub(base.bytes),
            retransmits: last.tcp.map(|tcp| {
                let before = base.tcp.map_or(0, |tcp| tcp.retransmits);
                tcp.retransmits.saturating_sub(before)
            }),
            packets: last.datagrams,
            omitted_packets: Some(base.datagrams),
            ..start
        },
        (Counters::Receiver(base), Counters::Receiver(last)) => {
            let seen = last.datagrams + last.lost;
            let packets = seen.max(sent.unwrap_or(0));
            StreamResult {
                bytes: last.bytes.saturating_sub(base.bytes),
                jitter_s: last.jitter_rfc3550_ns as f64 / 1e9,
                errors: packets - last.datagrams,
                omitted_errors: Some(base.lost),
                packets,
                omitted_packets: Some(base.datagrams + base.lost),
                ..start
            }
        }
        _ => start,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(at_ns: u64, datagrams: u64, lost: u64) -> Sample {
        Sample {
            flow: 0,
            tick: 0,
            at_ns,
            counters: Counters::Receiver(ReceiverCounters {
                bytes: datagrams * 1000,
                datagrams,
                lost,
                ..ReceiverCounters::default()
            }),
        }
    }

    #[test]
    fn what_was_sent_is_what_was_received_and_what_was_lost() {
        let (base, last) = (received(0, 0, 0), received(2_000_000_000, 90, 4));
        let seen = result(1, &base, &last, None);
        assert_eq!((seen.packets, seen.errors, seen.end_s), (94, 4, Some(2.0)));
        // Six more were sent behind the last that arrived.
        let told = result(1, &base, &last, Some(100));
        assert_eq!((told.packets, told.errors, told.bytes), (100, 10, 90_000));
        // A sender that says less than came is not believed.
        assert_eq!(result(1, &base, &last, Some(7)).packets, 94);
    }

    #[test]
    fn the_warm_up_is_told_apart() {
        let (base, last) = (
            received(1_000_000_000, 40, 1),
            received(2_000_000_000, 90, 4),
        );
        let one = result(3, &base, &last, None);
        assert_eq!((one.lost(), one.datagrams(), one.bytes), (3, 53, 50_000));
        let sent = |datagrams| Sample {
            counters: Counters::Sender(SenderCounters {
                datagrams,
                bytes: datagrams * 10,
                ..SenderCounters::default()
            }),
            ..base
        };
        let one = result(3, &sent(40), &sent(100), None);
        assert_eq!(
            (one.datagrams(), one.bytes, one.retransmits),
            (60, 600, None)
        );
    }
}
