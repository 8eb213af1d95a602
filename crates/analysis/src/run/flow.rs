//! The report of a flow, from its record.

use caudal_core::interval::{Interval, ServerAccount};
use caudal_core::plan::Direction;
use caudal_core::run::{FlowReport, ReceiverReport, SenderReport, TcpReport};
use caudal_core::sample::{Counters, FlowEnd, FlowRecord, TcpSnapshot};

/// A connection at its end, by its last snapshot.
pub(super) fn tcp_report(state: &TcpSnapshot) -> TcpReport {
    TcpReport {
        rtt_us: Some(state.rtt_us),
        rttvar_us: Some(state.rttvar_us),
        min_rtt_us: state.min_rtt_us,
        cwnd_bytes: Some(state.cwnd_bytes),
        receiver_window_bytes: state.receiver_window_bytes,
        retransmits: Some(state.retransmits),
        retransmitted_bytes: state.retransmitted_bytes,
        bytes_sent: state.bytes_sent,
        bytes_acked: state.bytes_acked,
        delivery_rate_bps: state.delivery_rate_bps,
        app_limited: Some(state.app_limited),
        busy_us: state.busy_us,
        receiver_window_limited_us: state.receiver_window_limited_us,
        send_buffer_limited_us: state.send_buffer_limited_us,
        pacing_rate_bps: state.pacing_rate_bps,
        mss: Some(state.mss),
        path_mtu: Some(state.path_mtu),
        timeouts: state.timeouts,
        duplicate_sacks: state.duplicate_sacks,
        reordering_seen: state.reordering_seen,
        ecn: state.ecn,
        delivered: state.delivered,
        delivered_ce: state.delivered_ce,
    }
}

/// The report of a flow whose server gives this account of its own end.
#[must_use]
pub fn flow_report(
    record: &FlowRecord,
    intervals: Vec<Interval>,
    server: ServerAccount,
) -> FlowReport {
    let (sender_account, receiver_account) = match record.flow.direction {
        Direction::Up => (ServerAccount::Full, server),
        Direction::Down => (server, ServerAccount::Full),
    };
    let sender = record.sender.as_ref();
    let receiver = record.receiver.as_ref();
    FlowReport {
        sender: sender.map(|end| sender_report(end, sender_account)),
        receiver: receiver.map(|end| match receiver_account {
            ServerAccount::Full => receiver_report(end, server),
            ServerAccount::Totals { reordered } => receiver_totals(end, reordered),
        }),
        intervals: Some(intervals),
        ..FlowReport::new(record.flow)
    }
}

fn sender_report(end: &FlowEnd, account: ServerAccount) -> SenderReport {
    let Counters::Sender(counters) = &end.counters else {
        return SenderReport::default();
    };
    if !account.is_full() {
        return SenderReport {
            bytes: Some(counters.bytes),
            datagrams: (counters.datagrams > 0).then_some(counters.datagrams),
            ..SenderReport::default()
        };
    }
    let is_udp = counters.tcp.is_none();
    SenderReport {
        bytes: Some(counters.bytes),
        calls: Some(counters.calls),
        cpu_s: Some(counters.cpu_ns as f64 / 1e9),
        cpu_wait_s: Some(counters.cpu_wait_ns as f64 / 1e9),
        tcp: counters.tcp.as_ref().map(tcp_report),
        datagrams: is_udp.then_some(counters.datagrams),
        refused: is_udp.then_some(counters.send_errors),
        forbidden: Some(counters.send_forbidden).filter(|count| *count > 0),
        credit_wait_s: is_udp.then_some(counters.credit_wait_ns as f64 / 1e9),
        granted: Some(end.granted.clone()),
        spacing: end.spacing,
        failure: end.failure.clone(),
        ..SenderReport::default()
    }
}

/// The report of a receiver of caudal's. One that received from another program's server keeps counts of
/// datagrams as well as ever, but of reordering and loss may know no more than the number.
fn receiver_report(end: &FlowEnd, server: ServerAccount) -> ReceiverReport {
    let Counters::Receiver(counters) = &end.counters else {
        return ReceiverReport::default();
    };
    let mut report = ReceiverReport {
        bytes: Some(counters.bytes),
        calls: Some(counters.calls),
        cpu_s: Some(counters.cpu_ns as f64 / 1e9),
        cpu_wait_s: Some(counters.cpu_wait_ns as f64 / 1e9),
        first_byte_s: Some(counters.first_ns as f64 / 1e9),
        last_byte_s: Some(counters.last_ns as f64 / 1e9),
        granted: Some(end.granted.clone()),
        delay: end.delay,
        failure: end.failure.clone(),
        ..ReceiverReport::default()
    };
    if let Some(sequence) = &end.sequence {
        report.datagrams = Some(sequence.received);
        report.lost = Some(sequence.lost);
        report.duplicate = Some(sequence.duplicate);
        report.reordered = Some(sequence.reordered);
        if server.is_full() || sequence.reordered == 0 || sequence.reorder_extent_max > 0 {
            report.reorder_extent_max = Some(sequence.reorder_extent_max);
            report.three_reordered = Some(sequence.n_reordering);
        }
        report.late = Some(sequence.late);
        report.corrupt = Some(counters.corrupt);
        report.socket_drops = Some(counters.socket_drops);
        report.marks = end.marks.clone();
        if server.is_full() || sequence.lost == 0 || sequence.loss_runs.count > 0 {
            report.loss_runs = Some(sequence.loss_runs.clone());
        }
    }
    report
}

/// The report of another program's receiver, which gives totals.
fn receiver_totals(end: &FlowEnd, reordered: bool) -> ReceiverReport {
    let Counters::Receiver(counters) = &end.counters else {
        return ReceiverReport::default();
    };
    let sequence = end.sequence.as_ref();
    ReceiverReport {
        bytes: Some(counters.bytes),
        last_byte_s: Some(counters.last_ns as f64 / 1e9),
        datagrams: sequence.map(|sequence| sequence.received),
        lost: sequence.map(|sequence| sequence.lost),
        reordered: sequence
            .filter(|_| reordered)
            .map(|sequence| sequence.reordered),
        delay: sequence.and(end.delay),
        ..ReceiverReport::default()
    }
}
