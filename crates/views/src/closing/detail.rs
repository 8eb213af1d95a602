//! Everything that is known of a direction, a line for each thing.

use super::round_trip::rtt_line;
use super::window;
use crate::text::{bits, bytes, counted, percent, time_us};
use crate::width::LineWidth;
use caudal_core::loss::{Loss, LossLocation};
use caudal_core::plan::{Direction, Transport};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::Run;
use caudal_core::summary::{DirectionSummary, TcpEcn};
use caudal_stats::IntervalMethod;

/// The lines on a direction.
pub(super) fn direction_lines(
    run: &Run,
    summary: &DirectionSummary,
    width: LineWidth,
) -> Vec<String> {
    let has_warm_up = summary.omitted_s.is_some_and(|omitted| omitted > 0.0005);
    let mut lines: Vec<String> = Vec::new();
    lines.extend(interval_line(summary));
    lines.extend(overall_line(summary));
    lines.extend(rtt_line(run, summary));
    lines.extend(transferred_line(summary, has_warm_up));
    lines.extend(ceiling_line(summary));
    lines.extend(prediction_lines(run, summary.direction, |_| true));
    lines.extend(
        summary
            .limited_by
            .as_ref()
            .map(|limit| format!("  limited by: {}: {}", limit.name(), limit.evidence)),
    );
    lines.extend(tcp_line(summary));
    lines.extend(window::every_line(run, summary, width));
    if let Some(loss) = &summary.loss {
        datagrams(loss, has_warm_up, &mut |line| lines.push(line));
    }
    let marks = summary.marks.iter().filter(|marks| marks.is_notable());
    lines.extend(marks.map(|marks| format!("  marks: {}", marks.sentence())));
    lines.extend(delay_line(summary));
    lines.extend(spacing_line(summary));
    lines.extend(pacing_line(summary));
    lines.extend(granted(run, summary.direction));
    lines.extend(cpu_line(summary));
    lines
}

/// The mean over all levels, where the goodput is that of one.
fn overall_line(summary: &DirectionSummary) -> Option<String> {
    let level = summary.level?;
    Some(format!(
        "  over all levels: {} (the result is that of the longest, {:.1} to {:.1} s)",
        bits(level.overall_bps),
        level.from_s,
        level.to_s
    ))
}

/// The interval of the goodput, and the method it was found by.
fn interval_line(summary: &DirectionSummary) -> Option<String> {
    let goodput = summary.goodput_bps?;
    let shown = EstimateInUnit::new(&goodput, Unit::BitPerSecond).to_string();
    let doubt = if goodput.method == IntervalMethod::BatchMeansT
        && summary.goodput_trusted == Some(false)
    {
        "; interval unreliable: too few independent samples"
    } else {
        ""
    };
    Some(format!("  goodput: {shown}{doubt}"))
}

/// The payload received, the time it took, and the warm-up before it.
fn transferred_line(summary: &DirectionSummary, has_warm_up: bool) -> Option<String> {
    let received = summary.bytes.or(summary.received_bytes)?;
    let flows = summary.flows.map_or_else(String::new, |flows| {
        format!(" over {}", counted(flows as u64, "flow"))
    });
    let omitted = if has_warm_up {
        format!(
            ", after {:.2} s of excluded warm-up",
            summary.omitted_s.unwrap_or_default()
        )
    } else {
        String::new()
    };
    Some(format!(
        "  transferred: {} received in {}{flows}{omitted}",
        bytes(received),
        time_us(summary.measured_s * 1e6)
    ))
}

/// The goodput that the link can carry at most, and the share of it that was reached.
fn ceiling_line(summary: &DirectionSummary) -> Option<String> {
    let ceiling = summary.ceiling.as_ref()?;
    Some(match (ceiling.goodput_bps, ceiling.share) {
        (Some(max), Some(share)) => format!(
            "  ceiling: {} of the {} this link can carry ({})",
            percent(share),
            bits(max),
            ceiling.why
        ),
        _ => format!("  ceiling: {}", ceiling.why),
    })
}

/// The predicted goodput and loss of a direction beside those observed, of the predictions for which this is `true`, given whether
/// they held.
pub(super) fn prediction_lines(
    run: &Run,
    direction: Direction,
    is_shown: impl Fn(bool) -> bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    for compared in run.predictions() {
        let name = &compared.prediction.name;
        if !name.ends_with(direction.name()) || !is_shown(compared.holds) {
            continue;
        }
        if name.starts_with("goodput_") {
            lines.push(format!("  predicted: {compared}"));
        } else if name.starts_with("loss_") && !name.contains("ceiling") {
            lines.push(format!("  predicted loss: {compared}"));
        }
    }
    lines
}

/// The round-trip times, retransmissions and congestion window of TCP.
fn tcp_line(summary: &DirectionSummary) -> Option<String> {
    let tcp = summary.tcp.as_ref()?;
    let time = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), time_us);
    let retransmitted = tcp
        .retransmitted_bytes
        .map_or_else(String::new, |count| format!(" ({})", bytes(count)));
    let retransmits = tcp
        .retransmits
        .map_or_else(|| "unknown".to_owned(), |count| counted(count, "segment"));
    let times = [
        tcp.rtt_min_us.map(f64::from),
        tcp.rtt_mean_us,
        tcp.rtt_max_us.map(f64::from),
    ];
    // A log of another tool has some of these.
    let has_times = times.iter().any(Option::is_some);
    let parts = [
        has_times.then(|| format!("rtt min/avg/max {}", times.map(time).join("/"))),
        Some(format!("{retransmits} retransmitted{retransmitted}")),
        tcp.cwnd_max_bytes
            .map(|window| format!("congestion window up to {}", bytes(window))),
        tcp.ecn.map(ecn_text),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(format!("  tcp: {}", parts.join("; ")))
}

/// ECN of the connections, in half a line.
pub(super) fn ecn_text(ecn: TcpEcn) -> String {
    let whose = match (ecn.negotiated, ecn.connections) {
        (0, _) => return "no ECN".to_owned(),
        (some, all) if some == all => "ECN".to_owned(),
        (some, all) => format!("ECN on {some} of {all} connections"),
    };
    let echoed = (ecn.delivered_ce > Some(0))
        .then(|| ", marked CE (the receiver's kernel does not count how often)".to_owned());
    let marked = ecn.ce_share();
    let marked = marked.map(|share| format!(", CE {} of segments", Unit::Share.show(share)));
    let marked = marked.or(echoed);
    let cleared = (ecn.arrived_capable == Some(false)).then_some(", cleared on the path");
    format!(
        "{whose}{}{}",
        marked.unwrap_or_default(),
        cleared.unwrap_or_default()
    )
}

/// The delay variation of datagrams.
fn delay_line(summary: &DirectionSummary) -> Option<String> {
    let delay = summary.delay.as_ref()?;
    let time = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), time_us);
    Some(format!(
        "  delay variation: jitter (RFC 3550) {}; ipdv mean {}; pdv p50 {}, p99 {}, p99.9 {}, max {}{}",
        time_us(delay.jitter_rfc3550_us),
        time(delay.ipdv_mean_abs_us),
        time(delay.pdv_p50_us),
        time(delay.pdv_p99_us),
        time(delay.pdv_p99_9_us),
        time(delay.pdv_max_us),
        delay.n.map_or_else(String::new, |n| format!(" (n = {n})"))
    ))
}

/// The scheduled gap between departures, and the error of their times.
fn spacing_line(summary: &DirectionSummary) -> Option<String> {
    let spacing = summary.spacing.as_ref()?;
    Some(format!(
        "  spacing: {} between departures of {:.1} datagrams; error p50 {}, p99 {}, max {}",
        time_us(spacing.scheduled_gap_us),
        spacing.datagrams_per_departure,
        time_us(spacing.error_p50_us),
        time_us(spacing.error_p99_us),
        time_us(spacing.error_max_us)
    ))
}

/// The pacing of departures, and what sending has cost.
fn pacing_line(summary: &DirectionSummary) -> Option<String> {
    let pacing = summary.spacing.as_ref()?.pacing?;
    let threads = if summary.flows == Some(1) {
        "sending thread"
    } else {
        "sending threads"
    };
    let cost = summary.sender_cpu.map_or_else(String::new, |cpu| {
        format!("; {threads} {:.0} % of one processor", cpu.max(0.0) * 100.0)
    });
    Some(format!("  pacing: {}{cost}", pacing.name()))
}

/// The processor time of the sending and the receiving threads, where one is known.
fn cpu_line(summary: &DirectionSummary) -> Option<String> {
    let cpu = |cpu: Option<f64>| {
        cpu.map_or_else(
            || "unknown".to_owned(),
            |cpu| format!("{:.0} %", cpu.max(0.0) * 100.0),
        )
    };
    (summary.sender_cpu.is_some() || summary.receiver_cpu.is_some()).then(|| {
        format!(
            "  cpu: sending threads {}, receiving threads {} of a processor",
            cpu(summary.sender_cpu),
            cpu(summary.receiver_cpu)
        )
    })
}

/// Pushes the lines on the datagrams sent, received and lost, and on their order.
fn datagrams(loss: &Loss, warm_up: bool, push: &mut impl FnMut(String)) {
    let count =
        |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    if !loss.is_complete() && loss.received.is_none() {
        push(format!(
            "  datagrams: {} sent; how many arrived is unknown: the receiver did not report it",
            count(loss.sent)
        ));
        return;
    }
    if !loss.is_complete() {
        push(format!(
            "  datagrams: {} sent, at least {} received; loss unknown: the receiver's final report did not arrive",
            count(loss.sent),
            count(loss.received)
        ));
        return;
    }
    let scope = if warm_up { " (warm-up included)" } else { "" };
    let fraction = loss.fraction.map_or_else(
        || "–".to_owned(),
        |fraction| EstimateInUnit::new(&fraction, Unit::Share).to_string(),
    );
    push(format!(
        "  datagrams{scope}: {} sent, {} received, {} lost: {fraction}",
        count(loss.sent),
        count(loss.received),
        count(loss.lost)
    ));
    if loss.lost.is_some_and(|lost| lost > 0) {
        if let Some(location) = &loss.location {
            loss_location(location, push);
        }
        if let Some(runs) = &loss.runs {
            push(format!(
                "  loss runs: {}, mean length {:.1} datagrams, max {}",
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
        push(format!("  order: {}", order.join(", ")));
    }
}

/// Pushes the line on the places at which datagrams were lost.
pub(super) fn loss_location(location: &LossLocation, push: &mut impl FnMut(String)) {
    let count =
        |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    let at_least = |bound: bool| if bound { "at least " } else { "" };
    let (queue_bound, socket_bound) = (
        location.sender_qdisc_at_least,
        location.receiver_socket_at_least,
    );
    let at_most = if queue_bound || socket_bound {
        "at most "
    } else {
        ""
    };
    let damaged = match location.checksum {
        Some(errors @ 1..) => format!(", {errors} with a wrong checksum"),
        _ => String::new(),
    };
    let in_host = match location.receiver_host {
        Some(dropped) => format!(" (which dropped {dropped} packets)"),
        None => String::new(),
    };
    let beyond = match location.path_or_socket {
        Some(rest) => format!(
            "{at_most}{rest} on the path or in the receiving host, which the other end does not tell apart"
        ),
        None => format!(
            "{at_most}{} on the path or in the receiving host{in_host}{damaged}, {}{} at the receiving socket{}",
            count(location.path),
            at_least(socket_bound),
            count(location.receiver_socket),
            if socket_bound {
                " (the kernel counts datagrams it had joined as one)"
            } else {
                ""
            }
        ),
    };
    push(format!(
        "  loss location: {} refused by the sender's kernel{}, {}{} dropped in its queue{}, {beyond}",
        count(location.sender_refused),
        location.refused().by("its host"),
        at_least(queue_bound),
        count(location.sender_qdisc),
        if queue_bound {
            " (it counts the datagrams of one send as one)"
        } else {
            ""
        }
    ));
}

/// The socket options and path MTU that the kernels granted, where an end reports them.
fn granted(run: &Run, direction: Direction) -> Option<String> {
    let flow = run
        .flows()
        .iter()
        .find(|flow| flow.flow.direction == direction)?;
    let sender = flow.sender.as_ref().and_then(|end| end.granted.as_ref());
    let receiver = flow.receiver.as_ref().and_then(|end| end.granted.as_ref());
    sender.or(receiver)?;
    let buffer = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), bytes);
    let send = buffer(sender.and_then(|granted| granted.send_buffer_bytes));
    let receive = buffer(receiver.and_then(|granted| granted.receive_buffer_bytes));
    let mtu = sender
        .and_then(|granted| granted.path_mtu)
        .map_or_else(|| "unknown".to_owned(), |mtu| format!("{mtu} B"));
    Some(match run.plan.transport()? {
        Transport::Tcp => format!(
            "  granted: {}, MSS {}, path MTU {mtu}, send buffer {send}, receive buffer {receive}",
            sender
                .and_then(|granted| granted.congestion.clone())
                .unwrap_or_else(|| "unknown".into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lower_bound_of_the_senders_queue_is_an_upper_bound_of_the_path() {
        let line = |sender_qdisc_at_least| {
            let mut line = String::new();
            let location = LossLocation {
                sender_refused: Some(0),
                sender_qdisc: Some(4366),
                sender_qdisc_at_least,
                receiver_socket: Some(0),
                path: Some(21_830),
                ..LossLocation::default()
            };
            loss_location(&location, &mut |text| line = text);
            line
        };
        assert_eq!(
            line(true),
            "  loss location: 0 refused by the sender's kernel, at least 4366 dropped in its queue (it counts the \
             datagrams of one send as one), at most 21830 on the path or in the receiving host, 0 at the receiving socket"
        );
        assert_eq!(
            line(false),
            "  loss location: 0 refused by the sender's kernel, 4366 dropped in its queue, 21830 on the path or in the receiving host, 0 at \
             the receiving socket"
        );
    }
}
