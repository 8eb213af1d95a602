//! The line of a flow over an interval or over the whole test.

use super::counts::{DatagramCounts, SpanCounts};
use super::flow::ShownFlow;
use super::header::{ColumnHeader, HeadedText};
use crate::iperf2::options::Options;
use crate::iperf2::units::{UnitFormat, bytes, percent, rate};
use caudal_core::sample::Role;

/// Appends the line of a flow.
pub(super) fn write_line(
    text: &mut HeadedText,
    options: &Options,
    flow: &ShownFlow,
    counts: &SpanCounts,
) {
    let columns = span_columns(options, &flow.id(options), counts);
    // One-way times are shown where there are any: a server reports them, or does not.
    let is_enhanced = match counts.received {
        Some(received) if options.host.is_some() && !flow.is_starred => received.transit.count > 0,
        _ => flow.is_enhanced(options),
    };
    if flow.bounceback.is_some() {
        text.head(ColumnHeader::Bounceback);
        return text.line(&format!("{columns}    {}", response_columns(counts)));
    }
    let has_bursts = counts.transit.count > 0;
    let (header, more) = match (flow.is_udp(), flow.role, counts.received) {
        (true, Role::Receiver, Some(received)) if is_enhanced => {
            (ColumnHeader::UdpRead, udp_read_columns(counts, &received))
        }
        (true, Role::Receiver, Some(received)) => (ColumnHeader::Udp, loss_columns(&received)),
        (true, ..) if is_enhanced => (ColumnHeader::UdpWrite, udp_write_columns(counts)),
        (false, Role::Sender, _) if is_enhanced => {
            (ColumnHeader::TcpWrite, tcp_write_columns(counts))
        }
        (false, Role::Receiver, _) if is_enhanced && flow.trip_times && has_bursts => {
            (ColumnHeader::TcpBursts, burst_columns(counts))
        }
        (false, Role::Receiver, _) if is_enhanced => (ColumnHeader::TcpRead, read_columns(counts)),
        _ => {
            text.head(ColumnHeader::Plain);
            return text.line(&columns);
        }
    };
    text.head(header);
    text.line(&format!("{columns}  {more}"));
}

/// The columns that every line has.
pub(super) fn span_columns(options: &Options, id: &str, counts: &SpanCounts) -> String {
    format!(
        "{id} {:.4}-{:.4} sec  {}s  {}s/sec",
        counts.start_s,
        counts.end_s,
        bytes(counts.bytes as f64, options.format),
        rate(counts.bps(), options.format)
    )
}

/// Appends the line of the datagrams that were out of order, where there were any.
pub(super) fn write_out_of_order(text: &mut HeadedText, id: &str, counts: &SpanCounts, count: u64) {
    if count > 0 {
        text.line(&format!(
            "{id} {:.4}-{:.4} sec  {count} datagrams received out-of-order",
            counts.start_s, counts.end_s
        ));
    }
}

/// The response times of a bounceback test, and how many requests a second they allow.
fn response_columns(counts: &SpanCounts) -> String {
    let times = counts.transit;
    let rate = if times.mean_s > 0.0 {
        1.0 / times.mean_s
    } else {
        0.0
    };
    format!(
        "{}={:.3}/{:.3}/{:.3}/{:.3} ms    {rate:.0} rps",
        times.count,
        times.mean_s * 1e3,
        times.min_s * 1e3,
        times.max_s * 1e3,
        times.deviation_s() * 1e3
    )
}

fn loss_columns(received: &DatagramCounts) -> String {
    let lost_percent = 100.0 * received.lost as f64 / received.total.max(1) as f64;
    format!(
        "{:6.3} ms {}/{} ({}%)",
        received.jitter_ms,
        received.lost,
        received.total,
        percent(lost_percent)
    )
}

fn udp_read_columns(counts: &SpanCounts, received: &DatagramCounts) -> String {
    let (transit, elapsed_s) = (received.transit, counts.elapsed_s());
    let lost = u64::try_from(received.lost).unwrap_or(0);
    let arrived = received.total.saturating_sub(lost);
    format!(
        "{} {:.3}/{:.3}/{:.3}/{:.3} ms {:.0} pps {arrived}/0(0) pkts {}",
        loss_columns(received),
        transit.mean_s * 1e3,
        transit.min_s * 1e3,
        transit.max_s * 1e3,
        transit.deviation_s() * 1e3,
        arrived as f64 / elapsed_s,
        network_power(counts.bytes as f64 / elapsed_s, transit.mean_s)
    )
}

/// The columns of a sender of datagrams.
pub(super) fn udp_write_columns(counts: &SpanCounts) -> String {
    format!(
        "{}/{} {:8.0} pps",
        counts.datagrams,
        counts.errors,
        counts.datagrams as f64 / counts.elapsed_s()
    )
}

fn tcp_write_columns(counts: &SpanCounts) -> String {
    let (cwnd_kb, rtt_us, rttvar_us) = counts.tcp.map_or((0, 0, 0), |tcp| {
        (tcp.cwnd_bytes / 1024, tcp.rtt_us, tcp.rttvar_us)
    });
    format!(
        "{}/{} {:10} {cwnd_kb:8}K/{rtt_us}({rttvar_us}) us  {}",
        counts.calls,
        counts.errors,
        counts.retransmits,
        network_power(counts.bps() / 8.0, f64::from(rtt_us) / 1e6)
    )
}

/// The reads of a TCP receiver, and their histogram by size.
pub(super) fn read_columns(counts: &SpanCounts) -> String {
    let total: u64 = counts.reads.iter().sum();
    let histogram: Vec<String> = counts.reads.iter().map(ToString::to_string).collect();
    format!("{total}={}", histogram.join(":"))
}

/// The one-way times of bursts, what is in flight with them, and the reads of a TCP receiver.
fn burst_columns(counts: &SpanCounts) -> String {
    let times = counts.transit;
    // One time has no range.
    let (min_s, max_s) = match times.count {
        0 | 1 => (0.0, 0.0),
        _ => (times.min_s, times.max_s),
    };
    let bytes_per_s = counts.bytes as f64 / counts.elapsed_s();
    format!(
        "{:.3}/{:.3}/{:.3}/{:.3} ms ({}/{}) {} {}  {}",
        times.mean_s * 1e3,
        min_s * 1e3,
        max_s * 1e3,
        times.deviation_s() * 1e3,
        times.count,
        counts.bytes / times.count.max(1),
        bytes(
            (bytes_per_s * times.mean_s).max(0.0),
            UnitFormat::AdaptiveBytes
        ),
        network_power(bytes_per_s, times.mean_s),
        read_columns(counts)
    )
}

/// The throughput over the delay, which iperf 2 calls network power: bytes a second over seconds, in millions.
fn network_power(bytes_per_s: f64, delay_s: f64) -> String {
    if delay_s <= 0.0 {
        return "NAN".to_owned();
    }
    let power = bytes_per_s / delay_s / 1e6;
    if power < 10.0 {
        format!("{power:.2}")
    } else {
        format!("{power:.0}")
    }
}
