//! One flow in detail, for people.

use super::chosen_flow::ChosenFlow;
use super::direction_table::DirectionTable;
use super::tcp_text::{rtt_text, tcp_lines, tcp_rows};
use crate::findings::{FindingsShown, findings_lines};
use crate::text::{indented_within, time_us};
use crate::width::LineWidth;
use caudal_capture::{
    CaptureSummary, CapturedDirection, CapturedFlow, FlowRoles, ResponseTimes, UdpAnalysis,
};
use caudal_core::quantity::{Unit, rate, short, size};

/// Sizes of requests and responses shown.
const MAX_SIZES: usize = 20;

/// The lines of one flow with its findings.
#[must_use]
pub fn flow_lines(summary: &CaptureSummary, chosen: &ChosenFlow, width: LineWidth) -> Vec<String> {
    let flow = &chosen.flow;
    let mut lines = indented_within(&chosen.title(), "", "    ", width);
    lines.push(format!(
        "{} in {} over {}, frames {} to {}",
        size(flow.bytes),
        Unit::Frames.show(flow.frames as f64),
        Unit::Seconds.show(flow.duration_s),
        flow.first_frame,
        flow.last_frame
    ));
    if flow.roles == FlowRoles::FirstFrame {
        lines.push("client: the end that sent the first frame captured".to_owned());
    }
    if let Some(tcp) = &flow.tcp {
        lines.extend(tcp_lines(tcp, width));
    }
    lines.push(String::new());
    lines.extend(directions(flow).lines());
    let responses = flow.tcp.as_ref().and_then(|tcp| tcp.responses.as_ref());
    let of_udp = flow.udp.as_ref().and_then(|udp| udp.responses.as_ref());
    if let Some(responses) = responses.or(of_udp) {
        lines.push(String::new());
        lines.extend(response_lines(responses, width));
    }
    let findings: Vec<_> = summary
        .findings
        .iter()
        .filter(|finding| finding.flow == Some(flow.number))
        .cloned()
        .collect();
    if !findings.is_empty() {
        lines.push(String::new());
        lines.extend(findings_lines(&findings, 0, FindingsShown::All, width));
    }
    lines
}

/// Both directions.
fn directions(flow: &CapturedFlow) -> DirectionTable {
    let mut table = DirectionTable::default();
    let both = [&flow.to_server, &flow.to_client];
    table.row("frames", both.map(|one| Some(short(one.frames as f64))));
    table.row("bytes", both.map(|one| Some(size(one.bytes))));
    table.row("payload", both.map(|one| Some(size(one.payload_bytes))));
    table.row(
        "largest frame",
        both.map(|one| Some(Unit::Bytes.show(f64::from(one.max_frame_bytes)))),
    );
    if let Some(tcp) = &flow.tcp {
        tcp_rows(&mut table, [&tcp.to_server, &tcp.to_client]);
    }
    if let Some(udp) = &flow.udp {
        udp_rows(&mut table, udp);
    }
    table.row("TTL", both.map(ttl));
    table.row("DSCP", both.map(dscp));
    table.counts("fragments", both.map(|one| one.fragments));
    table.counts("ECN CE", both.map(|one| one.ecn.ce));
    table
}

fn ttl(direction: &CapturedDirection) -> Option<String> {
    let (low, high) = (direction.ttl_min?, direction.ttl_max?);
    Some(if low == high {
        low.to_string()
    } else {
        format!("{low}–{high}")
    })
}

fn dscp(direction: &CapturedDirection) -> Option<String> {
    let points = direction.dscp.iter().take(4);
    let points: Vec<String> = points.map(|one| one.dscp.to_string()).collect();
    (!points.is_empty()).then(|| points.join(", "))
}

fn udp_rows(table: &mut DirectionTable, udp: &UdpAnalysis) {
    let both = [&udp.to_server, &udp.to_client];
    table.counts("datagrams", both.map(|one| one.datagrams));
    table.row(
        "payload of a datagram",
        both.map(|one| {
            let sizes = one.sizes?;
            Some(format!(
                "{}–{} B",
                sizes.min_bytes.get(),
                sizes.max_bytes.get()
            ))
        }),
    );
    table.row(
        "rate of the payload",
        both.map(|one| one.payload_rate_bps.map(rate)),
    );
    table.row(
        "between two, min/avg/max",
        both.map(|one| one.gaps.as_ref().map(rtt_text)),
    );
    table.counts("super-packets", both.map(|one| one.super_packets));
    table.counts("in fragments", both.map(|one| one.fragmented));
    table.counts("incomplete", both.map(|one| one.incomplete));
    let numbers = both.map(|one| one.numbers);
    let counts = |of: fn(&caudal_capture::DatagramNumbers) -> u64| {
        numbers.map(|numbers| numbers.as_ref().map(|numbers| short(of(numbers) as f64)))
    };
    table.row("numbered", counts(|numbers| numbers.expected));
    table.row("lost", counts(|numbers| numbers.lost));
    table.row("out of order", counts(|numbers| numbers.reordered));
    table.row("duplicates", counts(|numbers| numbers.duplicates));
    table.row(
        "jitter (RFC 3550)",
        numbers.map(|numbers| numbers?.jitter_us.map(time_us)),
    );
}

/// Requests and responses.
fn response_lines(responses: &ResponseTimes, width: LineWidth) -> Vec<String> {
    let place = if responses.at_client {
        "as the client waited"
    } else {
        "at the point of capture, which is not the client"
    };
    let times = responses.response.as_ref();
    let times = times.map_or_else(String::new, |times| {
        format!(" of {} (min/avg/max)", rtt_text(times))
    });
    let text = format!(
        "{} exchanges of a request and a response{times}, {place}",
        short(responses.exchanges as f64)
    );
    let mut lines = indented_within(&text, "", "    ", width);
    if responses.overlapped > 0 {
        let text = format!(
            "in {} the client sent on before the response was complete: one large request and two in a row look the same",
            short(responses.overlapped as f64)
        );
        lines.extend(indented_within(&text, "", "    ", width));
    }
    lines.push(format!(
        "{:>12}  {:>12}  {:>9}  {:>11}",
        "request", "response", "exchanges", "mean time"
    ));
    for one in responses.sizes.iter().take(MAX_SIZES) {
        lines.push(format!(
            "{:>12}  {:>12}  {:>9}  {:>11}",
            size(one.request_bytes),
            size(one.response_bytes),
            short(one.n as f64),
            time_us(one.mean_us)
        ));
    }
    let more = responses.sizes.len().saturating_sub(MAX_SIZES);
    if more > 0 || responses.other_sizes > 0 {
        lines.push("and other sizes: see --json".to_owned());
    }
    lines
}
