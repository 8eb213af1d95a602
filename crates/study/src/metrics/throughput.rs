//! The metrics of a throughput flow, from its run.

use caudal_core::plan::Transport;
use caudal_core::run::{FlowReport, Run, TcpReport};
use caudal_core::summary::DirectionSummary;
use caudal_stats::contention::PayloadInterval;

use super::metric_set::{FlowMetrics, ratio};

/// Adds the metrics of a run over TCP or UDP, which has one direction.
pub(super) fn add(run: &Run, transport: Transport, metrics: &mut FlowMetrics<'_>) {
    let Some(direction) = run.directions().first() else {
        return;
    };
    metrics.put("goodput", direction.goodput_mean());
    let sent_bits = direction.sent_bytes.map(|bytes| bytes as f64 * 8.0);
    metrics.put("sent", ratio(sent_bits, direction.duration_s()));
    metrics.put("bytes", direction.bytes.map(|bytes| bytes as f64));
    match transport {
        Transport::Tcp => add_tcp(run, direction, metrics),
        Transport::Udp => add_udp(run, direction, metrics),
    }
}

fn add_tcp(run: &Run, direction: &DirectionSummary, metrics: &mut FlowMetrics<'_>) {
    let tcp = direction.tcp.unwrap_or_default();
    let as_f64 = |count: Option<u64>| count.map(|count| count as f64);
    metrics.put("retransmits", as_f64(tcp.retransmits));
    metrics.put("rtt", tcp.rtt_mean_us.map(|us| us / 1e6));
    metrics.put("rtt_min", tcp.rtt_min_us.map(|us| f64::from(us) / 1e6));
    metrics.put("cwnd_max", as_f64(tcp.cwnd_max_bytes));
    // Absent unless every connection's sender reports the count.
    let sum = |count: fn(&TcpReport) -> Option<u64>| -> Option<f64> {
        let counts = run.flows().iter().map(|flow| {
            let tcp = flow.sender.as_ref()?.tcp.as_ref()?;
            as_f64(count(tcp))
        });
        counts.sum()
    };
    metrics.put(
        "retransmitted",
        ratio(
            sum(|tcp| tcp.retransmitted_bytes),
            sum(|tcp| tcp.bytes_sent),
        ),
    );
    metrics.put("timeouts", sum(|tcp| tcp.timeouts));
}

fn add_udp(run: &Run, direction: &DirectionSummary, metrics: &mut FlowMetrics<'_>) {
    let loss = direction.loss.clone().unwrap_or_default();
    let as_f64 = |count: Option<u64>| count.map(|count| count as f64);
    let sent = as_f64(loss.sent);
    metrics.put("loss", lost_and_sent(run).map(|(lost, sent)| lost / sent));
    let location = loss.location.unwrap_or_default();
    // The queueing discipline also counts datagrams of others; of this flow at most those that were lost.
    let at_sender = as_f64(location.sender_refused).map(|refused| {
        let queued = as_f64(location.sender_qdisc).unwrap_or(0.0);
        let lost = as_f64(loss.lost).unwrap_or(f64::MAX);
        (refused + queued).min(lost.max(refused))
    });
    metrics.put("loss_sender", ratio(at_sender, sent));
    metrics.put("loss_path", ratio(as_f64(location.path), sent));
    metrics.put("loss_socket", ratio(as_f64(location.receiver_socket), sent));
    let jitter_us = direction
        .delay
        .as_ref()
        .map(|delay| delay.jitter_rfc3550_us);
    metrics.put("jitter", jitter_us.map(|us| us / 1e6));
    metrics.put(
        "reordered",
        ratio(as_f64(loss.reordered), as_f64(loss.received)),
    );
}

/// Datagrams lost and sent in the measured part: without a warm-up from the final reports, otherwise from the receiver's
/// intervals. `None` when none was sent.
pub(super) fn lost_and_sent(run: &Run) -> Option<(f64, f64)> {
    let direction = run.directions().first()?;
    let counted = if direction.omitted_s.is_none_or(|omitted| omitted <= 0.0) {
        let loss = direction.loss.as_ref()?;
        (loss.lost? as f64, loss.sent? as f64)
    } else {
        let (mut lost, mut sent) = (0.0, 0.0);
        let intervals = run.flows().iter().flat_map(FlowReport::intervals);
        for interval in intervals.filter(|interval| !interval.omitted) {
            let udp = interval.udp?;
            let missing = udp.lost? as f64;
            lost += missing;
            sent += missing + udp.datagrams? as f64;
        }
        (lost, sent)
    };
    (counted.1 > 0.0).then_some(counted)
}

/// The payload each connection received over time, without the warm-up.
pub(super) fn received(run: &Run) -> Vec<Vec<PayloadInterval>> {
    let connections = run.flows().iter().map(|flow| {
        let measured = flow.intervals().iter().filter(|interval| !interval.omitted);
        let received = measured.filter_map(|interval| {
            Some(PayloadInterval {
                start_s: interval.start_s,
                end_s: interval.end_s,
                bytes: interval.bytes? as f64,
            })
        });
        received.collect()
    });
    connections.collect()
}

/// The payload that all connections of a flow received in each interval. Intervals that one of them lacks are left out.
pub(super) fn received_together(connections: &[Vec<PayloadInterval>]) -> Vec<PayloadInterval> {
    let Some((first, others)) = connections.split_first() else {
        return Vec::new();
    };
    let sum = |interval: &PayloadInterval| {
        let middle = f64::midpoint(interval.start_s, interval.end_s);
        let bytes: Option<f64> = others
            .iter()
            .map(|other| {
                let same = other
                    .iter()
                    .find(|one| one.start_s <= middle && middle < one.end_s)?;
                // The connections are read some microseconds apart.
                Some(same.rate()? * (interval.end_s - interval.start_s) / 8.0)
            })
            .sum();
        Some(PayloadInterval {
            bytes: interval.bytes + bytes?,
            ..*interval
        })
    };
    first.iter().filter_map(sum).collect()
}

/// The mean payload rate over the intervals, bit/s.
pub(super) fn mean_rate(intervals: &[PayloadInterval]) -> Option<f64> {
    let bytes: f64 = intervals.iter().map(|interval| interval.bytes).sum();
    let lengths = intervals
        .iter()
        .map(|interval| interval.end_s - interval.start_s);
    let seconds: f64 = lengths.sum();
    (seconds > 0.0).then(|| bytes * 8.0 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn datagrams_lost_in_the_warm_up_are_not_counted() {
        let run = |omitted_s: f64| -> Run {
            let document = json!({
                "schema": "caudal.run/1", "id": "0", "tool": {"name": "caudal"}, "plan": {"kind": "udp"},
                "summary": {"directions": [
                    {"direction": "up", "omitted_s": omitted_s, "loss": {"lost": 50, "sent": 150}},
                ]},
                "flows": [{"id": 0, "direction": "up", "intervals": [
                    {"start_s": 0.0, "end_s": 1.0, "omitted": true, "udp": {"lost": 40, "datagrams": 10}},
                    {"start_s": 1.0, "end_s": 2.0, "omitted": false, "udp": {"lost": 10, "datagrams": 90}},
                ]}],
            });
            serde_json::from_value(document).unwrap()
        };
        assert_eq!(lost_and_sent(&run(1.0)), Some((10.0, 100.0)));
        assert_eq!(lost_and_sent(&run(0.0)), Some((50.0, 150.0)));
    }
}
