//! What people read: the interval table and the closing block, in at most 80 columns.

use caudal_core::interval::{Interval, Row};
use caudal_core::plan::{Direction, Transport};
use caudal_core::prediction::Compared;
use caudal_core::sample::FlowRecord;
use caudal_core::summary::{DirectionSummary, Loss, LossPlaces};
use caudal_core::units::{BitRate, ByteCount};
use caudal_core::warning::Warning;
use caudal_stats::{Estimate, Method};

/// The width text is folded to.
pub const WIDTH: usize = 80;

/// A rate in words.
#[must_use]
pub fn bits(bps: f64) -> String {
    BitRate::from_f64(bps).map_or_else(|| "-".to_owned(), |rate| rate.to_string())
}

/// An amount in words.
#[must_use]
pub fn bytes(count: u64) -> String {
    ByteCount::new(count).to_string()
}

/// A time of so many µs in words, in the unit that suits it.
#[must_use]
pub fn time_us(us: f64) -> String {
    match us.abs() {
        below if below < 1.0 => format!("{us:.2} µs"),
        below if below < 1e3 => format!("{us:.1} µs"),
        below if below < 1e6 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

/// A share in words: enough digits to tell it from nothing.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        below if below < 0.01 => format!("{percent:.4} %"),
        below if below < 1.0 => format!("{percent:.3} %"),
        below if below < 10.0 => format!("{percent:.2} %"),
        _ => format!("{percent:.1} %"),
    }
}

/// An estimate with its interval and what that rests on.
#[must_use]
pub fn estimate(estimate: &Estimate, shown: impl Fn(f64) -> String) -> String {
    let method = match estimate.method {
        Method::SingleValue => return format!("{} (one value: no interval)", shown(estimate.mean)),
        Method::BatchMeansT => format!("batch means over {} intervals", estimate.n),
        Method::IndependentRunsT => format!("Student's t over {} runs", estimate.n),
        Method::Wilson => "Wilson".to_owned(),
        _ => format!("n = {}", estimate.n),
    };
    format!(
        "{} ({:.4} % interval {} to {}, {method})",
        shown(estimate.mean),
        Trimmed(estimate.confidence * 100.0),
        shown(estimate.low),
        shown(estimate.high)
    )
}

/// A number without the zeros behind its last digit.
struct Trimmed(f64);

impl std::fmt::Display for Trimmed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{:.4}", self.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Folds a line to [`WIDTH`] columns, later lines indented by `indent`.
#[must_use]
pub fn fold(line: &str, indent: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    let lead = line.len() - line.trim_start().len();
    for (nth, word) in line.split_whitespace().enumerate() {
        let width = word.chars().count();
        if nth == 0 {
            folded.push_str(&" ".repeat(lead));
            column = lead;
        } else if column + 1 + width > WIDTH {
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            folded.push(' ');
            column += 1;
        }
        folded.push_str(word);
        column += width;
    }
    folded
}

/// The interval table's header.
#[must_use]
pub fn header(transport: Transport, verbose: bool) -> String {
    let common = format!(
        "{:>15}  {:<8} {:>9} {:>12}",
        "interval", "flow", "received", "goodput"
    );
    match (transport, verbose) {
        (Transport::Tcp, false) => {
            format!("{common} {:>9} {:>9} {:>11}", "rtt", "cwnd", "retransmit")
        }
        (Transport::Tcp, true) => format!(
            "{common} {:>9} {:>9} {:>9} {:>11} {:>12} {:>6} {:>6} {:>6}",
            "rtt", "min rtt", "cwnd", "retransmit", "delivery", "rwnd", "sndbuf", "busy"
        ),
        (Transport::Udp, false) => {
            format!("{common} {:>9} {:>9} {:>10}", "lost", "reorder", "jitter")
        }
        (Transport::Udp, true) => format!(
            "{common} {:>9} {:>9} {:>10} {:>9} {:>7} {:>7} {:>7}",
            "lost", "reorder", "jitter", "duplicate", "late", "corrupt", "socket"
        ),
    }
}

/// A flow among several, in at most 8 columns.
fn flow_name(direction: Direction, id: u32) -> String {
    let (way, gap) = (direction.name(), if id < 1000 { " " } else { "" });
    format!("{way}{gap}{id}")
}

/// The lines of one row: each flow, and the sum of each direction that has several.
#[must_use]
pub fn row_lines(row: &Row, verbose: bool, flows: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (flow, interval) in &row.flows {
        let alone = row.sum(flow.direction).2 == 1;
        if flows || alone {
            let name = if alone {
                flow.direction.name().to_owned()
            } else {
                flow_name(flow.direction, flow.id)
            };
            lines.push(line(&name, interval, verbose));
        }
    }
    for direction in [Direction::Up, Direction::Down] {
        let (bytes, bps, count) = row.sum(direction);
        if count > 1
            && let Some((_, first)) = row
                .flows
                .iter()
                .find(|(flow, _)| flow.direction == direction)
        {
            let sum = Interval {
                bytes,
                goodput_bps: bps,
                tcp: None,
                udp: None,
                ..first.clone()
            };
            lines.push(line(&format!("{} sum", direction.name()), &sum, verbose));
        }
    }
    lines
}

/// The time an interval covers, in at most 15 columns up to 30 days.
fn span(interval: &Interval) -> String {
    let (start, end) = (interval.start_s, interval.end_s);
    match end {
        below if below < 999.995 => format!("{start:.2}-{end:.2} s"),
        below if below < 9999.95 => format!("{start:.1}-{end:.1} s"),
        below if below < 999_999.5 => format!("{start:.0}-{end:.0} s"),
        _ => format!("{start:.0}-{end:.0}"),
    }
}

fn line(name: &str, interval: &Interval, verbose: bool) -> String {
    let span = span(interval);
    // The headline says what the asterisk means.
    let mark = if interval.omitted { '*' } else { ' ' };
    let mut line = format!(
        "{span:>15} {mark}{name:<8} {:>9} {:>12}",
        bytes(interval.bytes),
        bits(interval.goodput_bps)
    );
    let elapsed_us = (interval.end_s - interval.start_s) * 1e6;
    let held = |us: Option<u64>| {
        us.map_or_else(
            || "-".to_owned(),
            |us| format!("{:.0} %", (us as f64 / elapsed_us).min(1.0) * 100.0),
        )
    };
    let least = |us: Option<u32>| us.map_or_else(|| "-".to_owned(), |us| time_us(f64::from(us)));
    if let Some(tcp) = interval.tcp {
        let retransmitted = tcp
            .retransmitted_bytes
            .map_or_else(|| tcp.retransmits.to_string(), bytes);
        line += &format!(" {:>9}", time_us(f64::from(tcp.rtt_us)));
        if verbose {
            line += &format!(" {:>9}", least(tcp.min_rtt_us));
        }
        line += &format!(" {:>9} {retransmitted:>11}", bytes(tcp.cwnd_bytes));
        if verbose {
            let delivery = tcp
                .delivery_rate_bps
                .map_or_else(|| "-".to_owned(), |bps| bits(bps as f64));
            line += &format!(
                " {delivery:>12} {:>6} {:>6} {:>6}",
                held(tcp.receiver_window_limited_us),
                held(tcp.send_buffer_limited_us),
                held(tcp.busy_us)
            );
        }
    }
    if let Some(udp) = interval.udp {
        let told = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
        line += &format!(
            " {:>9} {:>9} {:>10}",
            udp.lost,
            told(udp.reordered),
            time_us(udp.jitter_rfc3550_us)
        );
        if verbose {
            line += &format!(
                " {:>9} {:>7} {:>7} {:>7}",
                told(udp.duplicate),
                told(udp.late),
                told(udp.corrupt),
                told(udp.socket_drops)
            );
        }
    }
    line
}

/// The closing block of one direction.
#[must_use]
pub fn closing(
    summary: &DirectionSummary,
    records: &[FlowRecord],
    predictions: &[Compared],
    transport: Transport,
) -> Vec<String> {
    let way = match summary.direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    };
    let mut lines = Vec::new();
    let mut say = |text: String| lines.push(fold(&text, 4));
    match &summary.goodput_bps {
        Some(goodput) => {
            let doubt = if goodput.method == Method::BatchMeansT && !summary.goodput_trusted {
                "; too few or too correlated to lean on"
            } else {
                ""
            };
            say(format!(
                "{way}: {} of goodput{doubt}",
                estimate(goodput, bits)
            ));
        }
        None => say(format!("{way}: no rate can be given")),
    }
    let omitted = if summary.omitted_s > 0.0005 {
        format!(", after {:.2} s of warm-up left out", summary.omitted_s)
    } else {
        String::new()
    };
    say(format!(
        "  moved: {} received in {} over {} flow{}{omitted}",
        bytes(summary.bytes),
        time_us(summary.measured_s * 1e6),
        summary.flows,
        if summary.flows == 1 { "" } else { "s" }
    ));
    match (summary.ceiling.goodput_bps, summary.ceiling.share) {
        (Some(ceiling), Some(share)) => say(format!(
            "  ceiling: {} of the {} this link can carry ({})",
            percent(share),
            bits(ceiling),
            summary.ceiling.why
        )),
        _ => say(format!("  ceiling: {}", summary.ceiling.why)),
    }
    for compared in predictions {
        let name = &compared.prediction.name;
        if !name.ends_with(summary.direction.name()) {
            continue;
        }
        if name.starts_with("goodput_") {
            say(format!("  predicted: {}", compared.words()));
        } else if name.starts_with("loss_") && !name.contains("ceiling") {
            say(format!("  predicted loss: {}", compared.words()));
        }
    }
    say(format!(
        "  limited by: {}: {}",
        summary.limited_by.limit.words(),
        summary.limited_by.evidence
    ));
    if let Some(tcp) = &summary.tcp {
        let us = |us: Option<f64>| us.map_or_else(|| "unknown".to_owned(), time_us);
        let retransmitted = tcp
            .retransmitted_bytes
            .map_or_else(String::new, |count| format!(" ({})", bytes(count)));
        say(format!(
            "  tcp: rtt {} mean, {} least, {} most; {} segment{} retransmitted{retransmitted}; congestion window up to {}",
            us(tcp.rtt_mean_us),
            us(tcp.rtt_min_us.map(f64::from)),
            us(tcp.rtt_max_us.map(f64::from)),
            tcp.retransmits,
            if tcp.retransmits == 1 { "" } else { "s" },
            bytes(tcp.cwnd_max_bytes)
        ));
    }
    if let Some(loss) = &summary.loss {
        datagrams(loss, summary.omitted_s > 0.0005, &mut say);
    }
    if let Some(delay) = &summary.delay {
        let us = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), time_us);
        say(format!(
            "  delay variation: jitter_rfc3550 {}; ipdv {} mean; pdv p50 {}, p99 {}, p99.9 {}, max {} (n = {})",
            time_us(delay.jitter_rfc3550_us),
            us(delay.ipdv_mean_abs_us),
            us(delay.pdv_p50_us),
            us(delay.pdv_p99_us),
            us(delay.pdv_p99_9_us),
            us(delay.pdv_max_us),
            delay.n
        ));
    }
    if let Some(spacing) = &summary.spacing {
        say(format!(
            "  spacing: {} between departures of {:.1} datagrams; error p50 {}, p99 {}, max {}",
            time_us(spacing.scheduled_gap_us),
            spacing.datagrams_per_departure,
            time_us(spacing.error_p50_us),
            time_us(spacing.error_p99_us),
            time_us(spacing.error_max_us)
        ));
    }
    if let Some(text) = granted(summary.direction, records, transport) {
        say(text);
    }
    let cpu = |cpu: Option<f64>| {
        cpu.map_or_else(
            || "unknown".to_owned(),
            |cpu| format!("{:.0} %", cpu.max(0.0) * 100.0),
        )
    };
    say(format!(
        "  cpu: sending threads {}, receiving threads {} of a processor",
        cpu(summary.sender_cpu),
        cpu(summary.receiver_cpu)
    ));
    lines
}

fn datagrams(loss: &Loss, warm_up: bool, say: &mut impl FnMut(String)) {
    if !loss.complete {
        say(format!(
            "  datagrams: {} sent, at least {} received; how many were lost cannot be told: the receiver's last account did not come",
            loss.sent, loss.received
        ));
        return;
    }
    let whole = if warm_up {
        " (the warm-up included)"
    } else {
        ""
    };
    let fraction = loss
        .fraction
        .map_or_else(|| "-".to_owned(), |fraction| estimate(&fraction, percent));
    say(format!(
        "  datagrams{whole}: {} sent, {} received, {} lost: {fraction}",
        loss.sent, loss.received, loss.lost
    ));
    if loss.lost > 0 {
        lost_where(&loss.places, say);
        if let Some(runs) = &loss.runs {
            say(format!(
                "  loss runs: {} of {:.1} datagrams on average, the longest {}",
                runs.count,
                runs.mean.unwrap_or(0.0),
                runs.max
            ));
        }
    }
    let order: Vec<String> = [
        (loss.reordered, "reordered"),
        (loss.duplicate, "duplicate"),
        (loss.late, "late"),
        (loss.corrupt, "corrupt"),
    ]
    .into_iter()
    .filter_map(|(count, what)| Some(format!("{} {what}", count?)))
    .collect();
    if !order.is_empty() {
        say(format!("  order: {}", order.join(", ")));
    }
}

fn lost_where(places: &LossPlaces, say: &mut impl FnMut(String)) {
    let told =
        |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    let bound = places.receiver_socket_at_least;
    let beyond = match places.path_or_socket {
        Some(rest) => format!(
            "{rest} on the way or at the receiving socket, which the other end does not tell apart"
        ),
        None => format!(
            "{}{} on the way, {}{} at the receiving socket{}",
            if bound { "at most " } else { "" },
            told(places.path),
            if bound { "at least " } else { "" },
            told(places.receiver_socket),
            if bound {
                " (the kernel counts datagrams it had joined as one)"
            } else {
                ""
            }
        ),
    };
    say(format!(
        "  lost where: {} refused by the sender's kernel, {} dropped in its queue, {beyond}",
        told(places.sender_refused),
        told(places.sender_qdisc)
    ));
}

fn granted(direction: Direction, records: &[FlowRecord], transport: Transport) -> Option<String> {
    let record = records
        .iter()
        .find(|record| record.flow.direction == direction)?;
    let sender = record.sender.as_ref().map(|end| &end.granted);
    let receiver = record.receiver.as_ref().map(|end| &end.granted);
    let buffer = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), bytes);
    let send = buffer(sender.and_then(|granted| granted.send_buffer_bytes));
    let receive = buffer(receiver.and_then(|granted| granted.receive_buffer_bytes));
    let mtu = sender
        .and_then(|granted| granted.path_mtu)
        .map_or_else(|| "unknown".to_owned(), |mtu| format!("{mtu} B"));
    Some(match transport {
        Transport::Tcp => format!(
            "  granted: {}, MSS {}, path MTU {mtu}, send buffer {send}, receive buffer {receive}",
            sender
                .and_then(|granted| granted.congestion.clone())
                .unwrap_or_else(|| "unknown".to_owned()),
            sender
                .and_then(|granted| granted.mss)
                .map_or_else(|| "unknown".to_owned(), |mss| format!("{mss} B"))
        ),
        Transport::Udp => format!(
            "  granted: path MTU {mtu}, send buffer {send}, receive buffer {receive}; up to {} datagrams a send (GSO), joined on receive (GRO): {}",
            sender
                .and_then(|granted| granted.segments_per_send)
                .unwrap_or(1),
            match receiver.and_then(|granted| granted.receive_offload) {
                Some(true) => "yes",
                Some(false) => "no",
                None => "unknown",
            }
        ),
    })
}

/// A warning with its remedy.
#[must_use]
pub fn warning(warning: &Warning) -> String {
    fold(
        &format!("warning: {}; {}", warning.message, warning.remedy),
        4,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_at_words() {
        let folded = fold(&"word ".repeat(40), 4);
        assert!(folded.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(
            folded
                .lines()
                .skip(1)
                .all(|line| line.starts_with("    word"))
        );
    }

    #[test]
    fn shares_keep_enough_digits_to_tell_them_from_nothing() {
        let cases = [
            (0.0, "0 %"),
            (0.00001, "0.0010 %"),
            (0.005, "0.500 %"),
            (0.0512, "5.12 %"),
            (0.853, "85.3 %"),
        ];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
    }

    #[test]
    fn headers_fit_the_terminal() {
        for transport in [Transport::Tcp, Transport::Udp] {
            assert!(header(transport, false).chars().count() <= WIDTH);
        }
    }

    #[test]
    fn rows_fit_the_terminal_however_long_the_test_and_many_the_flows() {
        use caudal_core::interval::TcpInterval;
        use caudal_core::plan::PlannedFlow;
        let tcp = TcpInterval {
            rtt_us: 999_990,
            min_rtt_us: None,
            cwnd_bytes: 999_999,
            retransmitted_bytes: Some(999_999_999),
            retransmits: 9,
            delivery_rate_bps: None,
            busy_us: None,
            receiver_window_limited_us: None,
            send_buffer_limited_us: None,
            app_limited: false,
        };
        for start_s in [0.0, 999.0, 9_999.0, 999_999.0, 2_591_999.0] {
            let interval = Interval {
                start_s,
                end_s: start_s + 1.0,
                bytes: 99_990_000,
                goodput_bps: 799.9e6,
                omitted: true,
                receiver_cpu: Some(0.0),
                sender_cpu: None,
                tcp: Some(tcp),
                udp: None,
            };
            let flow = |id| PlannedFlow {
                id,
                direction: Direction::Down,
            };
            let row = Row {
                tick: 1,
                flows: vec![(flow(0), interval.clone()), (flow(1023), interval)],
            };
            for line in row_lines(&row, false, true) {
                assert!(line.chars().count() <= WIDTH, "{line}");
                assert!(line.contains(" *down"), "{line}");
            }
        }
    }
}
