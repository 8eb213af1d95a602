//! File transfers as comma-separated values.

use caudal_core::plan::TransferVia;
use caudal_core::transfer::{FileReport, TransferCell, TransferRun};
use caudal_core::units::ByteCount;

/// The columns, a row for each transfer: times in s, rates in bit/s; empty where a quantity is absent.
pub const COLUMNS: [&str; 26] = [
    "cell",
    "block",
    "protocol",
    "content",
    "size_bytes",
    "packet_bytes",
    "write_bytes",
    "mss",
    "began_s",
    "bytes",
    "resumed_bytes",
    "time_s",
    "goodput_bps",
    "handshake_s",
    "transfer_s",
    "write_s",
    "sync_s",
    "verify_s",
    "datagrams",
    "retransmitted",
    "lost",
    "socket_drops",
    "sender_cpu_ns_per_byte",
    "receiver_cpu_ns_per_byte",
    "verified",
    "failure",
];

/// The lines of a report: the header, then each transfer in the order in which they happened.
#[must_use]
pub fn csv_lines(report: &FileReport) -> Vec<String> {
    let rows = report.runs.iter().filter_map(|run| {
        let cell = report.cells.get(run.cell as usize)?;
        Some(row(&cell.cell, run))
    });
    [COLUMNS.join(",")].into_iter().chain(rows).collect()
}

fn row(cell: &TransferCell, run: &TransferRun) -> String {
    fn shown<T: std::fmt::Display>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    let seconds = |ns: Option<u64>| shown(ns.map(|ns| format!("{:.9}", ns as f64 / 1e9)));
    let of_byte = |ns: Option<f64>| shown(ns.map(|ns| format!("{ns:.6}")));
    let (packet, write, mss) = settings(&cell.via);
    let result = &run.result;
    let times = &result.times;
    let file = cell.file.as_ref().map(|file| quoted(&file.cell()));
    let failure = result.failure.as_ref();
    [
        run.cell.to_string(),
        run.block.to_string(),
        cell.protocol().name().to_owned(),
        file.unwrap_or_else(|| "generated".to_owned()),
        shown(cell.size_bytes.map(ByteCount::get)),
        shown(packet),
        shown(write),
        shown(mss),
        shown(run.began_s.map(|at| format!("{at:.6}"))),
        result.bytes.to_string(),
        result.resumed_bytes.to_string(),
        seconds(result.time_ns),
        shown(result.goodput_bps.map(|bps| format!("{bps:.0}"))),
        seconds(Some(times.handshake_ns)),
        seconds(times.transfer_ns),
        seconds(times.write_ns),
        seconds(times.sync_ns),
        seconds(times.verify_ns),
        shown(result.datagrams),
        shown(result.retransmitted),
        shown(result.lost),
        shown(result.socket_drops),
        of_byte(result.sender_cpu_ns_per_byte),
        of_byte(result.receiver_cpu_ns_per_byte),
        u8::from(result.verified).to_string(),
        failure.map_or_else(String::new, |failure| quoted(&failure.cell())),
    ]
    .join(",")
}

/// The packet size, the write size and the MSS, each where the protocol has it.
const fn settings(via: &TransferVia) -> (Option<u32>, Option<u32>, Option<u32>) {
    match via {
        TransferVia::Rbt(rbt) => (Some(rbt.packet_bytes), None, None),
        TransferVia::Tcp(tcp) | TransferVia::Tls(tcp) => (None, Some(tcp.write_bytes), tcp.mss),
        TransferVia::Quic => (Some(1400), None, None),
    }
}

/// A text in quotation marks where it needs them (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::campaign;
    use super::*;

    #[test]
    fn every_transfer_is_a_row_with_every_column() {
        let mut report = campaign(2);
        report.cells[0].cell.file = Some("a, b.iso".into());
        let lines = csv_lines(&report);
        assert_eq!(lines.len(), 9);
        assert_eq!(
            lines[1],
            "0,1,tcp,\"a, b.iso\",1000000,,262144,,1700000001.250000,1000000,0,0.008000000,1000000000,0.000120000,0.007780000,\
             0.000100000,,0.001500000,,0,,,0.214000,0.341000,1,"
        );
        for line in &lines[2..5] {
            assert_eq!(line.split(',').count(), COLUMNS.len(), "{line}");
        }
    }
}
