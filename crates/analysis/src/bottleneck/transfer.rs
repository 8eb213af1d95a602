//! The bottleneck of a file transfer.

use super::evidence::{Evidence, MIN_SHARE, REACHED, percent};
use super::find::find;
use super::processor::CPU_BOUND;
use crate::timeline::MeasuredFlow;
use crate::transfer::TransferEnds;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::plan::Rate;
use caudal_core::sample::TcpSnapshot;
use caudal_core::tcp_trace::TcpTrace;
use caudal_core::text::ExternalText;
use caudal_core::transfer::{TransferEnd, TransferSummary};
use caudal_core::units::BitRate;

/// Minimum fraction of datagrams lost for loss to be the limit.
const MIN_LOSS: f64 = 0.001;
/// Minimum share of a transfer's time for what fills it to be the limit.
const MOST: f64 = 0.5;

/// Finds the bottleneck of a transfer that completed; `None` of one that did not. `ceiling` is what TCP carries that fills the link, where the
/// rate of the link is known.
#[must_use]
pub fn find_of_transfer(
    rate: Rate,
    ends: TransferEnds<'_>,
    summary: &TransferSummary,
    ceiling: Option<BitRate>,
) -> Option<LimitedBy> {
    let time_ns = summary.time_ns.filter(|ns| *ns > 0)? as f64;
    let connection = limited_by_connection(ends, time_ns, ceiling);
    // A congestion window that nothing explains is for what a processor does not explain either.
    let is_explained =
        |found: &LimitedBy| found.limit != Bottleneck::Network || found.cause.is_some();
    let found = limited_by_rate(rate, summary)
        .or_else(|| limited_by_socket_buffer(summary))
        .or_else(|| limited_by_writing(summary, time_ns))
        .or_else(|| limited_by_window(ends.sender, time_ns))
        .or_else(|| limited_by_loss(summary))
        .or_else(|| connection.clone().filter(is_explained))
        .or_else(|| out_of_cpu(ends.receiver, time_ns, Bottleneck::Receiver))
        .or_else(|| out_of_cpu(ends.sender, time_ns, Bottleneck::Sender))
        .or(connection);
    Some(
        found.unwrap_or_else(|| {
            LimitedBy::unknown("neither end was out of CPU, and nothing was lost")
        }),
    )
}

fn limited_by_rate(rate: Rate, summary: &TransferSummary) -> Option<LimitedBy> {
    let Rate::Limit(asked) = rate else {
        return None;
    };
    let share = summary.goodput_bps? / asked.as_f64();
    // A short transfer ends before the handshake has become a small part of its time.
    (share >= REACHED - 0.08).then(|| {
        let evidence = format!("{} of the rate asked for arrived", percent(share));
        LimitedBy::new(Bottleneck::Pacing, evidence)
    })
}

fn limited_by_socket_buffer(summary: &TransferSummary) -> Option<LimitedBy> {
    let drops = summary.socket_drops.filter(|drops| *drops > 0)?;
    let evidence = format!("its socket's buffer was full when {drops} datagrams arrived");
    Some(LimitedBy::new(Bottleneck::Receiver, evidence))
}

fn limited_by_writing(summary: &TransferSummary, time_ns: f64) -> Option<LimitedBy> {
    let share = summary.times.write_ns? as f64 / time_ns;
    (share >= MIN_SHARE).then(|| {
        let evidence = format!(
            "it wrote for {} of the time after the last byte",
            percent(share)
        );
        LimitedBy::because(Cause::Application, Bottleneck::Receiver, evidence)
    })
}

/// The kernel's account of the window that the receiver advertises (TCP).
fn limited_by_window(sender: Option<&TransferEnd>, time_ns: f64) -> Option<LimitedBy> {
    let limited_us = sender?.tcp?.receiver_window_limited_us?;
    let share = (limited_us as f64 * 1e3 / time_ns).min(1.0);
    (share >= MOST).then(|| {
        let evidence = format!("it limited the connection {} of the time", percent(share));
        LimitedBy::new(Bottleneck::ReceiverWindow, evidence)
    })
}

fn limited_by_loss(summary: &TransferSummary) -> Option<LimitedBy> {
    let loss = summary.loss.filter(|loss| *loss >= MIN_LOSS)?;
    let evidence = format!("{:.2} % of the datagrams were lost", loss * 100.0);
    Some(LimitedBy::new(Bottleneck::Network, evidence))
}

/// What the sender's connection shows, by the rules for flows of a test (TCP and TLS); `None` where that is nothing.
fn limited_by_connection(
    ends: TransferEnds<'_>,
    time_ns: f64,
    ceiling: Option<BitRate>,
) -> Option<LimitedBy> {
    let sender = ends.sender?;
    let (last, readings) = (sender.tcp?, sender.readings?);
    let elapsed_ns = time_ns as u64;
    let share = |end: &TransferEnd| (end.cpu_ns as f64 / time_ns).min(1.0);
    let measured = MeasuredFlow {
        bytes: sender.bytes,
        start_ns: 0,
        elapsed_ns,
        receiver_cpu: ends.receiver.map(share),
        receiver_cpu_wait: 0.0,
        sender_cpu: Some(share(sender)),
        sender_cpu_wait: 0.0,
        sender_bytes: Some(sender.bytes),
        sender_elapsed_ns: Some(elapsed_ns),
        credit_wait: 0.0,
        source_wait: 0.0,
        pace_wait: 0.0,
        sender_readings: Some(readings),
        receiver_readings: None,
        tcp: Some((at_opening(&last), last)),
        app_limited: 0.0,
    };
    let ceiling_bps = ceiling.map(BitRate::as_f64).filter(|bps| *bps > 0.0);
    let found = find(&Evidence {
        measured: &measured,
        trace: sender.trace.as_ref().map_or(&[], TcpTrace::readings),
        congestion: sender.congestion.as_ref().map(ExternalText::as_received),
        asked_bps: None,
        window_set: false,
        machine_busy: false,
        is_loopback: false,
        ceiling_share: ceiling_bps.map(|bps| measured.goodput_bps() / bps),
        ceiling_bps,
        both_directions: false,
        is_udp: false,
    });
    (found.limit != Bottleneck::Unknown).then_some(found)
}

/// The state of a connection when it opened: the counters that this kernel keeps at zero.
fn at_opening(last: &TcpSnapshot) -> TcpSnapshot {
    TcpSnapshot {
        busy_us: last.busy_us.map(|_| 0),
        receiver_window_limited_us: last.receiver_window_limited_us.map(|_| 0),
        send_buffer_limited_us: last.send_buffer_limited_us.map(|_| 0),
        retransmitted_bytes: last.retransmitted_bytes.map(|_| 0),
        bytes_sent: last.bytes_sent.map(|_| 0),
        bytes_acked: last.bytes_acked.map(|_| 0),
        timeouts: last.timeouts.map(|_| 0),
        duplicate_sacks: last.duplicate_sacks.map(|_| 0),
        reordering_seen: last.reordering_seen.map(|_| 0),
        ..TcpSnapshot::default()
    }
}

fn out_of_cpu(end: Option<&TransferEnd>, time_ns: f64, limit: Bottleneck) -> Option<LimitedBy> {
    let share = (end?.cpu_ns as f64 / time_ns).min(1.0);
    (share >= CPU_BOUND).then(|| {
        let evidence = format!(
            "its thread was on a processor {} of the time",
            percent(share)
        );
        LimitedBy::because(Cause::Cpu, limit, evidence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::readings::SenderReadings;

    fn end(cpu_ns: u64) -> TransferEnd {
        TransferEnd {
            bytes: 1_000_000,
            cpu_ns,
            datagrams: Some(1000),
            lost: Some(0),
            written_ns: Some(10_000_000),
            verified_ns: Some(10_000_001),
            acknowledged_ns: Some(10_000_000),
            last_byte_ns: 10_000_000,
            socket_drops: Some(0),
            ..TransferEnd::default()
        }
    }

    /// A sender whose connection waited in a queue of `queue_us` for 3.5 s, as its kernel tells at the end.
    fn queueing_sender(queue_us: u32) -> TransferEnd {
        let last = TcpSnapshot {
            rtt_us: 20_000 + queue_us,
            min_rtt_us: Some(20_000),
            cwnd_bytes: 776_000,
            receiver_window_bytes: Some(4_500_000),
            busy_us: Some(3_500_000),
            receiver_window_limited_us: Some(0),
            send_buffer_limited_us: Some(0),
            mss: 1448,
            ..TcpSnapshot::default()
        };
        TransferEnd {
            tcp: Some(last),
            readings: Some(SenderReadings {
                count: 175,
                queued: if queue_us > 6000 { 170 } else { 0 },
                rtt_sum_us: 175 * u64::from(last.rtt_us),
                cwnd_sum_bytes: 175 * 776_000,
                in_flight_sum_bytes: 175 * 770_000,
                max_receiver_window_bytes: 4_500_000,
                ..SenderReadings::default()
            }),
            bytes: 40_000_000,
            acknowledged_ns: Some(3_500_000_000),
            last_byte_ns: 3_500_000_000,
            datagrams: None,
            lost: None,
            ..end(10_000_000)
        }
    }

    #[test]
    fn a_transfer_over_tcp_is_judged_as_a_flow_of_a_test_is() {
        let receiver = TransferEnd {
            written_ns: Some(3_500_000_000),
            verified_ns: Some(3_500_000_001),
            ..queueing_sender(0)
        };
        let full = found(Rate::Max, &queueing_sender(46_000), &receiver);
        assert_eq!(
            (full.limit, full.cause),
            (Bottleneck::Network, Some(Cause::Bufferbloat)),
            "{full:?}"
        );
        // Without what the kernel tells, there is nothing to judge by.
        let silent = TransferEnd {
            readings: None,
            ..queueing_sender(46_000)
        };
        let unknown = found(Rate::Max, &silent, &receiver);
        assert_eq!(unknown.limit, Bottleneck::Unknown);
    }

    #[test]
    fn a_known_link_that_carried_all_it_can_is_the_limit_without_a_queue() {
        let receiver = end(10_000_000);
        let short = queueing_sender(500);
        let ends = TransferEnds {
            sender: Some(&short),
            receiver: Some(&receiver),
        };
        let summary = ends.summary(0, None);
        let found = |ceiling: f64| {
            let ceiling = BitRate::from_f64(ceiling);
            find_of_transfer(Rate::Max, ends, &summary, ceiling).unwrap()
        };
        // 40 MB in 3.5 s are 91.4 Mbit/s.
        let full = found(93.5e6);
        assert_eq!(
            (full.limit, full.cause),
            (Bottleneck::Network, Some(Cause::LinkRate))
        );
        assert!(
            full.evidence.contains("of what the link can carry"),
            "{full:?}"
        );
        let half = found(186e6);
        assert!(
            !half.evidence.contains("of what the link can carry"),
            "{half:?}"
        );
    }

    fn found(rate: Rate, sender: &TransferEnd, receiver: &TransferEnd) -> LimitedBy {
        let ends = TransferEnds {
            sender: Some(sender),
            receiver: Some(receiver),
        };
        let summary = ends.summary(0, None);
        find_of_transfer(rate, ends, &summary, None).unwrap()
    }

    #[test]
    fn what_filled_the_time_is_the_limit() {
        let idle = end(1_000_000);
        let cases: [(Rate, TransferEnd, TransferEnd, Bottleneck); 6] = [
            (Rate::Max, idle.clone(), idle.clone(), Bottleneck::Unknown),
            (Rate::Max, end(9_500_000), idle.clone(), Bottleneck::Sender),
            (
                Rate::Max,
                end(9_500_000),
                end(9_500_000),
                Bottleneck::Receiver,
            ),
            (
                Rate::Limit(BitRate::from_bps(800_000_000)),
                end(9_500_000),
                idle.clone(),
                Bottleneck::Pacing,
            ),
            (
                Rate::Max,
                TransferEnd {
                    lost: Some(10),
                    ..idle.clone()
                },
                idle.clone(),
                Bottleneck::Network,
            ),
            (
                Rate::Max,
                idle.clone(),
                TransferEnd {
                    socket_drops: Some(7),
                    ..idle
                },
                Bottleneck::Receiver,
            ),
        ];
        for (rate, sender, receiver, limit) in cases {
            assert_eq!(found(rate, &sender, &receiver).limit, limit);
        }
    }

    #[test]
    fn a_transfer_that_failed_has_no_bottleneck() {
        let ends = TransferEnds {
            sender: None,
            receiver: None,
        };
        let summary = TransferSummary::default();
        assert_eq!(find_of_transfer(Rate::Max, ends, &summary, None), None);
    }
}
