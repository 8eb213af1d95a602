//! Finding the bottleneck of a flow.

use super::evidence::{Evidence, REACHED, percent};
use super::limit::{Bottleneck, LimitedBy};
use super::tcp::find_tcp;
use super::udp::find_udp;

/// The minimum time over which the kernel's account, kept in ticks of up to 10 ms, means anything, ns.
const MIN_ELAPSED_NS: u64 = 50_000_000;

/// Finds the bottleneck of a flow: the first that applies; see the module for the sources.
#[must_use]
pub fn find(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    if measured.elapsed_ns < MIN_ELAPSED_NS {
        return LimitedBy::new(
            Bottleneck::Unknown,
            "the flow ended before the kernel's account, kept in ticks, means anything",
        );
    }
    let sent_bps = measured.sent_bps();
    if let Some(asked) = evidence.asked_bps
        && sent_bps >= REACHED * asked as f64
        && (!evidence.is_udp || measured.goodput_bps() >= REACHED * asked as f64)
    {
        return LimitedBy::new(
            Bottleneck::Pacing,
            format!(
                "the sender reached {} of the rate asked for",
                percent(sent_bps / asked as f64)
            ),
        );
    }
    if evidence.is_udp {
        find_udp(evidence)
    } else {
        find_tcp(evidence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::TcpSnapshot;
    use crate::timeline::MeasuredFlow;

    fn measured() -> MeasuredFlow {
        let state = TcpSnapshot {
            busy_us: Some(0),
            receiver_window_limited_us: Some(0),
            send_buffer_limited_us: Some(0),
            ..TcpSnapshot::default()
        };
        let later = TcpSnapshot {
            busy_us: Some(1_000_000),
            ..state
        };
        MeasuredFlow {
            bytes: 1_000_000,
            start_ns: 0,
            elapsed_ns: 1_000_000_000,
            receiver_cpu: Some(0.1),
            receiver_cpu_wait: 0.0,
            sender_cpu: Some(0.1),
            sender_cpu_wait: 0.0,
            sender_bytes: Some(1_000_000),
            sender_elapsed_ns: Some(1_000_000_000),
            credit_wait: 0.0,
            tcp: Some((state, later)),
            app_limited: 0.0,
        }
    }

    fn bottleneck(change: impl FnOnce(&mut MeasuredFlow, &mut Evidence<'static>)) -> Bottleneck {
        let mut flow = measured();
        let placeholder: &'static MeasuredFlow = Box::leak(Box::new(measured()));
        let mut evidence = Evidence {
            measured: placeholder,
            asked_bps: None,
            window_set: false,
            machine_busy: false,
            is_udp: false,
        };
        change(&mut flow, &mut evidence);
        evidence.measured = Box::leak(Box::new(flow));
        find(&evidence).limit
    }

    fn later(measured: &mut MeasuredFlow) -> &mut TcpSnapshot {
        &mut measured.tcp.as_mut().unwrap().1
    }

    #[test]
    fn each_bottleneck_is_found_by_its_own_evidence() {
        assert_eq!(bottleneck(|_, _| {}), Bottleneck::Network);
        assert_eq!(
            bottleneck(|_, e| e.asked_bps = Some(8_000_000)),
            Bottleneck::Pacing
        );
        assert_eq!(
            bottleneck(|_, e| e.asked_bps = Some(80_000_000)),
            Bottleneck::Network
        );
        assert_eq!(
            bottleneck(|m, _| later(m).receiver_window_limited_us = Some(900_000)),
            Bottleneck::ReceiverWindow
        );
        assert_eq!(
            bottleneck(|m, _| {
                later(m).receiver_window_limited_us = Some(900_000);
                m.receiver_cpu = Some(0.99);
            }),
            Bottleneck::Receiver
        );
        assert_eq!(
            bottleneck(|m, _| later(m).send_buffer_limited_us = Some(500_000)),
            Bottleneck::SendBuffer
        );
        assert_eq!(
            bottleneck(|m, _| m.sender_cpu = Some(0.97)),
            Bottleneck::Sender
        );
        assert_eq!(
            bottleneck(|m, _| {
                m.sender_cpu = Some(0.47);
                m.sender_cpu_wait = 0.45;
            }),
            Bottleneck::Sender,
            "a thread that waits for a processor is out of CPU too"
        );
        assert_eq!(
            bottleneck(|m, _| later(m).busy_us = Some(300_000)),
            Bottleneck::Sender
        );
        assert_eq!(bottleneck(|m, _| m.tcp = None), Bottleneck::Unknown);
        assert_eq!(bottleneck(|_, e| e.machine_busy = true), Bottleneck::Sender);
    }

    #[test]
    fn a_busy_sender_of_datagrams_is_named() {
        assert_eq!(
            bottleneck(|m, e| {
                e.is_udp = true;
                m.sender_cpu = Some(1.0);
            }),
            Bottleneck::Sender
        );
    }

    #[test]
    fn a_window_that_only_bounds_a_full_queue_is_not_the_bottleneck() {
        let full = |m: &mut MeasuredFlow, _: &mut Evidence<'_>| {
            m.bytes = 11_950_000;
            let later = later(m);
            later.receiver_window_limited_us = Some(900_000);
            later.receiver_window_bytes = Some(80_896);
            later.rtt_us = 6_700;
            later.min_rtt_us = Some(10);
        };
        assert_eq!(bottleneck(full), Bottleneck::Network);
        assert_eq!(
            bottleneck(|m, e| {
                full(m, e);
                later(m).min_rtt_us = Some(6_500);
            }),
            Bottleneck::ReceiverWindow
        );
    }

    #[test]
    fn a_flow_that_ended_at_once_has_no_known_bottleneck() {
        assert_eq!(
            bottleneck(|m, _| m.elapsed_ns = 1_000_000),
            Bottleneck::Unknown
        );
    }
}
