//! The closing block of a throughput test, from its run.

use super::text::{bits, bytes, estimate, fold, percent, time_us, warning};
use caudal_core::loss::{Loss, LossLocation};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;
use caudal_stats::IntervalMethod;

/// The closing block of a throughput test: each direction, the result over several runs, and the warnings.
#[must_use]
pub fn closing_lines(run: &Run) -> Vec<String> {
    let mut lines = result_lines(run);
    lines.extend(run.warnings.iter().map(warning));
    lines
}

/// The same without the warnings.
#[must_use]
pub fn result_lines(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    let runs = run.repeats.len();
    let is_complete = |repeat: &caudal_core::run::Repeat| repeat.cut_short.is_none();
    let shown = run
        .repeats
        .iter()
        .rposition(is_complete)
        .map_or(runs, |at| at + 1);
    for direction in run.directions() {
        let name = direction.direction.name();
        if shown < runs {
            lines.push(format!("run {shown}, the last complete one, {name}:"));
        } else if runs > 1 {
            lines.push(format!("the last run, {name}:"));
        }
        lines.extend(direction_lines(run, direction));
    }
    for over in &run.over_repeats {
        let result = over.goodput_bps.map_or_else(
            || "no run was completed".to_owned(),
            |goodput| estimate(&goodput, bits),
        );
        let line = format!("over all runs, {}: {result}", over.direction.name());
        lines.push(fold(&line, 4));
    }
    if shown < runs {
        lines.push(format!("run {runs} was cut short and is not counted above"));
    }
    lines
}

/// The closing block of one direction.
fn direction_lines(run: &Run, summary: &DirectionSummary) -> Vec<String> {
    let name = match summary.direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    };
    let mut lines = Vec::new();
    let mut push = |text: String| lines.push(fold(&text, 4));
    match &summary.goodput_bps {
        Some(goodput) => {
            let doubt = if goodput.method == IntervalMethod::BatchMeansT
                && summary.goodput_trusted == Some(false)
            {
                "; interval unreliable: too few independent samples"
            } else {
                ""
            };
            push(format!(
                "{name}: {} of goodput{doubt}",
                estimate(goodput, bits)
            ));
        }
        None if summary.sent_bps.is_some() => push(format!(
            "{name}: {} sent, as its sender reports",
            bits(summary.sent_bps.unwrap_or_default())
        )),
        None => push(format!("{name}: no rate can be given")),
    }
    let has_warm_up = summary.omitted_s.is_some_and(|omitted| omitted > 0.0005);
    let omitted = if has_warm_up {
        format!(
            ", after {:.2} s of excluded warm-up",
            summary.omitted_s.unwrap_or_default()
        )
    } else {
        String::new()
    };
    if let Some(received) = summary.bytes.or(summary.received_bytes) {
        let flows = summary.flows.map_or_else(String::new, |flows| {
            format!(" over {flows} flow{}", if flows == 1 { "" } else { "s" })
        });
        push(format!(
            "  transferred: {} received in {}{flows}{omitted}",
            bytes(received),
            time_us(summary.measured_s * 1e6)
        ));
    }
    if let Some(ceiling) = &summary.ceiling {
        match (ceiling.goodput_bps, ceiling.share) {
            (Some(max), Some(share)) => push(format!(
                "  ceiling: {} of the {} this link can carry ({})",
                percent(share),
                bits(max),
                ceiling.why
            )),
            _ => push(format!("  ceiling: {}", ceiling.why)),
        }
    }
    for compared in run.predictions() {
        let name = &compared.prediction.name;
        if !name.ends_with(summary.direction.name()) {
            continue;
        }
        if name.starts_with("goodput_") {
            push(format!("  predicted: {compared}"));
        } else if name.starts_with("loss_") && !name.contains("ceiling") {
            push(format!("  predicted loss: {compared}"));
        }
    }
    if let Some(limited_by) = &summary.limited_by {
        push(format!(
            "  limited by: {}: {}",
            limited_by.limit, limited_by.evidence
        ));
    }
    if let Some(tcp) = &summary.tcp {
        let us = |us: Option<f64>| us.map_or_else(|| "unknown".to_owned(), time_us);
        let retransmitted = tcp
            .retransmitted_bytes
            .map_or_else(String::new, |count| format!(" ({})", bytes(count)));
        let retransmits = tcp.retransmits.map_or_else(
            || "unknown".to_owned(),
            |count| format!("{count} segment{}", if count == 1 { "" } else { "s" }),
        );
        push(format!(
            "  tcp: rtt min/avg/max {}/{}/{}; {retransmits} retransmitted{retransmitted}; congestion window up to {}",
            us(tcp.rtt_min_us.map(f64::from)),
            us(tcp.rtt_mean_us),
            us(tcp.rtt_max_us.map(f64::from)),
            tcp.cwnd_max_bytes
                .map_or_else(|| "unknown".to_owned(), bytes)
        ));
    }
    if let Some(loss) = &summary.loss {
        datagrams(loss, has_warm_up, &mut push);
    }
    if let Some(delay) = &summary.delay {
        let us = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), time_us);
        push(format!(
            "  delay variation: jitter (RFC 3550) {}; ipdv mean {}; pdv p50 {}, p99 {}, p99.9 {}, max {}{}",
            time_us(delay.jitter_rfc3550_us),
            us(delay.ipdv_mean_abs_us),
            us(delay.pdv_p50_us),
            us(delay.pdv_p99_us),
            us(delay.pdv_p99_9_us),
            us(delay.pdv_max_us),
            delay.n.map_or_else(String::new, |n| format!(" (n = {n})"))
        ));
    }
    if let Some(spacing) = &summary.spacing {
        push(format!(
            "  spacing: {} between departures of {:.1} datagrams; error p50 {}, p99 {}, max {}",
            time_us(spacing.scheduled_gap_us),
            spacing.datagrams_per_departure,
            time_us(spacing.error_p50_us),
            time_us(spacing.error_p99_us),
            time_us(spacing.error_max_us)
        ));
    }
    if let Some(text) = granted(run, summary.direction) {
        push(text);
    }
    let cpu = |cpu: Option<f64>| {
        cpu.map_or_else(
            || "unknown".to_owned(),
            |cpu| format!("{:.0} %", cpu.max(0.0) * 100.0),
        )
    };
    if summary.sender_cpu.is_some() || summary.receiver_cpu.is_some() {
        push(format!(
            "  cpu: sending threads {}, receiving threads {} of a processor",
            cpu(summary.sender_cpu),
            cpu(summary.receiver_cpu)
        ));
    }
    lines
}

fn datagrams(loss: &Loss, warm_up: bool, push: &mut impl FnMut(String)) {
    let count =
        |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    if !loss.is_complete() {
        push(format!(
            "  datagrams: {} sent, at least {} received; loss unknown: the receiver's final report did not arrive",
            count(loss.sent),
            count(loss.received)
        ));
        return;
    }
    let scope = if warm_up { " (warm-up included)" } else { "" };
    let fraction = loss
        .fraction
        .map_or_else(|| "-".to_owned(), |fraction| estimate(&fraction, percent));
    push(format!(
        "  datagrams{scope}: {} sent, {} received, {} lost: {fraction}",
        count(loss.sent),
        count(loss.received),
        count(loss.lost)
    ));
    if loss.lost.is_some_and(|lost| lost > 0) {
        if let Some(location) = &loss.places {
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

fn loss_location(location: &LossLocation, push: &mut impl FnMut(String)) {
    let count =
        |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
    let bound = location.receiver_socket_at_least;
    let beyond = match location.path_or_socket {
        Some(rest) => format!(
            "{rest} on the path or at the receiving socket, which the other end does not tell apart"
        ),
        None => format!(
            "{}{} on the path, {}{} at the receiving socket{}",
            if bound { "at most " } else { "" },
            count(location.path),
            if bound { "at least " } else { "" },
            count(location.receiver_socket),
            if bound {
                " (the kernel counts datagrams it had joined as one)"
            } else {
                ""
            }
        ),
    };
    push(format!(
        "  loss location: {} refused by the sender's kernel, {} dropped in its queue, {beyond}",
        count(location.sender_refused),
        count(location.sender_qdisc)
    ));
}

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
    Some(match run.plan.transport? {
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
