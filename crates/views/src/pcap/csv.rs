//! Flows as comma-separated values.

use crate::column::{self, Column, optional};
use caudal_capture::{CaptureSummary, CapturedFlow};
use caudal_core::units::BitRate;

/// The columns of the comma-separated values, a row for each flow.
pub const CSV_COLUMNS: [Column<CapturedFlow>; 21] = [
    Column::new(
        "flow",
        "",
        "its number, counted from 1 in the order of first frames",
        |flow| flow.number.to_string(),
    ),
    Column::new("transport", "", "`tcp`, `udp`, `icmp` or `other`", |flow| {
        flow.transport.to_string().to_lowercase()
    }),
    Column::new(
        "client",
        "",
        "address and port of the end that opened it",
        |flow| flow.client.to_string(),
    ),
    Column::new("server", "", "those of the other end", |flow| {
        flow.server.to_string()
    }),
    Column::new(
        "application",
        "",
        "what it carries, where its bytes tell",
        |flow| optional(flow.application),
    ),
    Column::new(
        "first_frame",
        "",
        "its first frame, from 1 over all files",
        |flow| flow.first_frame.to_string(),
    ),
    Column::new("last_frame", "", "its last frame", |flow| {
        flow.last_frame.to_string()
    }),
    Column::new(
        "start_s",
        "s",
        "its first frame, after the first frame of the capture",
        |flow| format!("{:.9}", flow.start_s),
    ),
    Column::new(
        "duration_s",
        "s",
        "between its first and its last frame",
        |flow| format!("{:.9}", flow.duration_s),
    ),
    Column::new("frames", "frames", "both directions", |flow| {
        flow.frames.to_string()
    }),
    Column::new(
        "bytes",
        "bytes",
        "both directions, from the link header on",
        |flow| flow.bytes.get().to_string(),
    ),
    Column::new(
        "to_server_bytes",
        "bytes",
        "the same from client to server",
        |flow| flow.to_server.bytes.get().to_string(),
    ),
    Column::new(
        "to_client_bytes",
        "bytes",
        "the same from server to client",
        |flow| flow.to_client.bytes.get().to_string(),
    ),
    Column::new(
        "to_server_payload_bytes",
        "bytes",
        "payload of TCP or UDP from client to server, repetitions included",
        |flow| flow.to_server.payload_bytes.get().to_string(),
    ),
    Column::new(
        "to_client_payload_bytes",
        "bytes",
        "the same from server to client",
        |flow| flow.to_client.payload_bytes.get().to_string(),
    ),
    Column::new(
        "to_server_payload_bps",
        "bit/s",
        "payload for each second between its first and its last frame with payload, from client to server",
        |flow| optional(payload_bps(flow)[0]),
    ),
    Column::new(
        "to_client_payload_bps",
        "bit/s",
        "the same from server to client",
        |flow| optional(payload_bps(flow)[1]),
    ),
    Column::new(
        "to_server_sent_again",
        "segments",
        "TCP: segments of the client that were sent again",
        |flow| optional(sent_again(flow)[0]),
    ),
    Column::new(
        "to_client_sent_again",
        "segments",
        "TCP: segments of the server that were sent again",
        |flow| optional(sent_again(flow)[1]),
    ),
    Column::new(
        "handshake_rtt_us",
        "µs",
        "TCP: round-trip time of the handshake, when neither SYN nor SYN-ACK was repeated",
        |flow| optional(flow.tcp.as_ref().and_then(|tcp| tcp.handshake.rtt_us)),
    ),
    Column::new("icmp_errors", "", "ICMP errors about its packets", |flow| {
        flow.icmp_errors.to_string()
    }),
];

/// The rates of the payload to the server and to the client, bit/s.
fn payload_bps(flow: &CapturedFlow) -> [Option<u64>; 2] {
    let of_tcp = flow.tcp.as_ref().map(|tcp| {
        let both = [&tcp.to_server, &tcp.to_client];
        both.map(|one| one.payload_rate_bps)
    });
    let of_udp = flow.udp.as_ref().map(|udp| {
        let both = [&udp.to_server, &udp.to_client];
        both.map(|one| one.payload_rate_bps)
    });
    let rates = of_tcp.or(of_udp).unwrap_or_default();
    rates.map(|rate| rate.map(BitRate::bps))
}

/// The segments of TCP sent again to the server and to the client.
fn sent_again(flow: &CapturedFlow) -> [Option<u64>; 2] {
    flow.tcp.as_ref().map_or([None; 2], |tcp| {
        let both = [&tcp.to_server, &tcp.to_client];
        both.map(|one| Some(one.retransmissions.total()))
    })
}

/// The header and a row for each flow.
#[must_use]
pub fn csv_lines(summary: &CaptureSummary) -> Vec<String> {
    let rows = summary
        .flows
        .iter()
        .map(|flow| column::row(&CSV_COLUMNS, flow));
    std::iter::once(column::header(&CSV_COLUMNS))
        .chain(rows)
        .collect()
}
