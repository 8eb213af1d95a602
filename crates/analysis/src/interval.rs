//! The interval between two readings of the counters of a flow.

use caudal_core::interval::{Interval, ServerAccount, TcpInterval, UdpInterval};
use caudal_core::sample::{ReceiverCounters, SenderCounters, TcpSnapshot};

fn tcp_between(earlier: &TcpSnapshot, later: &TcpSnapshot) -> TcpInterval {
    let increase = |then: Option<u64>, now: Option<u64>| Some(now?.saturating_sub(then?));
    TcpInterval {
        rtt_us: Some(later.rtt_us),
        min_rtt_us: later.min_rtt_us,
        cwnd_bytes: Some(later.cwnd_bytes),
        retransmitted_bytes: increase(earlier.retransmitted_bytes, later.retransmitted_bytes),
        retransmits: Some(later.retransmits.saturating_sub(earlier.retransmits)),
        delivery_rate_bps: later.delivery_rate_bps,
        busy_us: increase(earlier.busy_us, later.busy_us),
        receiver_window_limited_us: increase(
            earlier.receiver_window_limited_us,
            later.receiver_window_limited_us,
        ),
        send_buffer_limited_us: increase(
            earlier.send_buffer_limited_us,
            later.send_buffer_limited_us,
        ),
        app_limited: Some(later.app_limited),
    }
}

fn udp_between(
    earlier: &ReceiverCounters,
    later: &ReceiverCounters,
    account: ServerAccount,
) -> UdpInterval {
    let increase = |then: u64, now: u64| now.saturating_sub(then);
    let if_full = |then, now| account.is_full().then(|| increase(then, now));
    let signed = |count| i64::try_from(count).unwrap_or(i64::MAX);
    UdpInterval {
        datagrams: Some(increase(earlier.datagrams, later.datagrams)),
        lost: Some(signed(later.lost) - signed(earlier.lost)),
        duplicate: if_full(earlier.duplicate, later.duplicate),
        reordered: account
            .counts_reordering()
            .then(|| increase(earlier.reordered, later.reordered)),
        late: if_full(earlier.late, later.late),
        corrupt: if_full(earlier.corrupt, later.corrupt),
        socket_drops: if_full(earlier.socket_drops, later.socket_drops),
        ce: (later.ce > 0).then(|| increase(earlier.ce, later.ce)),
        jitter_rfc3550_us: Some(later.jitter_rfc3550_ns as f64 / 1e3),
    }
}

/// Counters of one end of a flow with the time at which they were read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading<T> {
    /// ns after the start.
    pub(crate) at_ns: u64,
    /// The counters.
    pub(crate) counters: T,
}

/// A flow's transport and the account its receiver gives, which decide what an interval can hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counted {
    /// `true` for datagrams.
    pub(crate) is_udp: bool,
    /// The receiver's account.
    pub(crate) account: ServerAccount,
}

/// The interval between two readings of the receiver, with those of the sender where it reports; `None`
/// when no time passed.
pub(crate) fn interval_between(
    earlier: &Reading<ReceiverCounters>,
    later: &Reading<ReceiverCounters>,
    sender: Option<(&Reading<SenderCounters>, &Reading<SenderCounters>)>,
    omitted: bool,
    counted: Counted,
) -> Option<Interval> {
    let elapsed_ns = later
        .at_ns
        .checked_sub(earlier.at_ns)
        .filter(|ns| *ns > 0)?;
    let arrived = later.counters.arrived_bytes();
    let bytes = arrived.saturating_sub(earlier.counters.arrived_bytes());
    let tcp = sender.and_then(|(earlier, later)| {
        Some(tcp_between(
            earlier.counters.tcp.as_ref()?,
            later.counters.tcp.as_ref()?,
        ))
    });
    let receiver_cpu_ns = later
        .counters
        .cpu_ns
        .saturating_sub(earlier.counters.cpu_ns);
    Some(Interval {
        start_s: earlier.at_ns as f64 / 1e9,
        end_s: later.at_ns as f64 / 1e9,
        bytes: Some(bytes),
        goodput_bps: Some(bytes as f64 * 8e9 / elapsed_ns as f64),
        omitted,
        receiver_cpu: counted
            .account
            .is_full()
            .then(|| share(receiver_cpu_ns, elapsed_ns)),
        sender_cpu: sender.map(|(earlier, later)| {
            let cpu_ns = later
                .counters
                .cpu_ns
                .saturating_sub(earlier.counters.cpu_ns);
            share(cpu_ns, later.at_ns.saturating_sub(earlier.at_ns))
        }),
        tcp,
        udp: counted
            .is_udp
            .then(|| udp_between(&earlier.counters, &later.counters, counted.account)),
        ..Interval::default()
    })
}

/// The share of `whole_ns` that `part_ns` is, at most 1.
pub(crate) fn share(part_ns: u64, whole_ns: u64) -> f64 {
    (part_ns as f64 / whole_ns.max(1) as f64).min(1.0)
}
