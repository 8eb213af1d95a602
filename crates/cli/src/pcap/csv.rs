//! Flows as comma-separated values.

use caudal_capture::{CaptureSummary, CapturedFlow};
use caudal_core::units::BitRate;
use std::fmt::Display;

/// The columns of the comma-separated values: a row for each flow.
pub const COLUMNS: [&str; 21] = [
    "flow",
    "transport",
    "client",
    "server",
    "application",
    "first_frame",
    "last_frame",
    "start_s",
    "duration_s",
    "frames",
    "bytes",
    "to_server_bytes",
    "to_client_bytes",
    "to_server_payload_bytes",
    "to_client_payload_bytes",
    "to_server_payload_bps",
    "to_client_payload_bps",
    "to_server_sent_again",
    "to_client_sent_again",
    "handshake_rtt_us",
    "icmp_errors",
];

/// The header and a row for each flow.
pub(super) fn csv_lines(summary: &CaptureSummary) -> Vec<String> {
    let mut lines = vec![COLUMNS.join(",")];
    lines.extend(summary.flows.iter().map(row));
    lines
}

fn cell<T: Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn row(flow: &CapturedFlow) -> String {
    let tcp = flow.tcp.as_ref();
    let udp = flow.udp.as_ref();
    let up = tcp
        .map(|tcp| tcp.to_server.payload_rate_bps)
        .or_else(|| udp.map(|udp| udp.to_server.payload_rate_bps));
    let down = tcp
        .map(|tcp| tcp.to_client.payload_rate_bps)
        .or_else(|| udp.map(|udp| udp.to_client.payload_rate_bps));
    [
        flow.number.to_string(),
        flow.transport.to_string().to_lowercase(),
        flow.client.to_string(),
        flow.server.to_string(),
        cell(flow.application),
        flow.first_frame.to_string(),
        flow.last_frame.to_string(),
        format!("{:.9}", flow.start_s),
        format!("{:.9}", flow.duration_s),
        flow.frames.to_string(),
        flow.bytes.get().to_string(),
        flow.to_server.bytes.get().to_string(),
        flow.to_client.bytes.get().to_string(),
        flow.to_server.payload_bytes.get().to_string(),
        flow.to_client.payload_bytes.get().to_string(),
        cell(up.flatten().map(BitRate::bps)),
        cell(down.flatten().map(BitRate::bps)),
        cell(tcp.map(|tcp| tcp.to_server.retransmissions.total())),
        cell(tcp.map(|tcp| tcp.to_client.retransmissions.total())),
        cell(tcp.and_then(|tcp| tcp.handshake.rtt_us)),
        flow.icmp_errors.to_string(),
    ]
    .join(",")
}
