//! The metrics of the transfer of a file, from its run.

use caudal_analysis::transfer::TransferEnds;
use caudal_core::plan::Directions;
use caudal_core::run::Run;

use super::metric_set::{FlowMetrics, ratio};

/// Adds the metrics of a run of one transfer.
pub(super) fn add(run: &Run, metrics: &mut FlowMetrics<'_>) {
    let Some(transfer) = run.transfers().first() else {
        return;
    };
    let server = transfer.server.as_ref();
    let (sender, receiver) = match transfer.plan.directions() {
        Some(Directions::Down) => (server, Some(&transfer.client)),
        _ => (Some(&transfer.client), server),
    };
    let as_f64 = |count: Option<u64>| count.map(|count| count as f64);
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let time = seconds(TransferEnds { sender, receiver }.time_ns());
    let bits = receiver.map(|end| end.bytes as f64 * 8.0);
    metrics.put("time", time);
    metrics.put("goodput", ratio(bits, time));
    metrics.put("handshake", seconds(sender.map(|end| end.handshake_ns)));
    let verify = receiver.and_then(|end| end.verified_ns.zip(end.written_ns));
    metrics.put(
        "verify",
        seconds(verify.map(|(verified, written)| verified.saturating_sub(written))),
    );
    let datagrams = as_f64(sender.and_then(|end| end.datagrams));
    metrics.put("datagrams", datagrams);
    let repeated = as_f64(sender.and_then(|end| end.retransmitted));
    metrics.put("retransmitted", ratio(repeated, datagrams));
    metrics.put(
        "socket_drops",
        as_f64(receiver.and_then(|end| end.socket_drops)),
    );
    let cpu_ns = sender
        .zip(receiver)
        .map(|(sender, receiver)| sender.cpu_ns + receiver.cpu_ns);
    metrics.put("cpu", seconds(cpu_ns));
    metrics.put("rtt_min", seconds(sender.and_then(|end| end.min_rtt_ns)));
}
