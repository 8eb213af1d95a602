//! File transfers as comma-separated values.

use crate::column::{self, Column, fixed, optional};
use caudal_core::plan::TransferVia;
use caudal_core::text::ExternalText;
use caudal_core::transfer::{FileReport, TransferCell, TransferRun};
use caudal_core::units::ByteCount;

/// A row of the table: a transfer, and the cell it belongs to.
#[derive(Debug)]
pub struct TransferRow<'a> {
    cell: &'a TransferCell,
    run: &'a TransferRun,
}

impl TransferRow<'_> {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 26] = [
        Column::new("cell", "", "the position of its cell, from 0", |row| {
            row.run.cell.to_string()
        }),
        Column::new("block", "", "the number of its block, from 1", |row| {
            row.run.block.to_string()
        }),
        Column::new("protocol", "", "`tcp`, `tls`, `rbt` or `quic`", |row| {
            row.cell.protocol().name().to_owned()
        }),
        Column::new(
            "content",
            "",
            "the name of the file, or `generated`",
            |row| {
                row.cell
                    .file
                    .as_ref()
                    .map_or_else(|| "generated".to_owned(), ExternalText::cell)
            },
        ),
        Column::new("size_bytes", "bytes", "the size of the content", |row| {
            optional(row.cell.size_bytes.map(ByteCount::get))
        }),
        Column::new(
            "packet_bytes",
            "bytes",
            "file bytes in each datagram (rbt, quic)",
            |row| optional(settings(&row.cell.via).0),
        ),
        Column::new(
            "write_bytes",
            "bytes",
            "bytes of each write (tcp, tls)",
            |row| optional(settings(&row.cell.via).1),
        ),
        Column::new(
            "mss",
            "bytes",
            "the largest segment asked for (tcp, tls)",
            |row| optional(settings(&row.cell.via).2),
        ),
        Column::new("began_s", "s", "when it began, since 1970", |row| {
            fixed(row.run.began_s, 6)
        }),
        Column::new("bytes", "bytes", "file bytes that it moved", |row| {
            row.run.result.bytes.to_string()
        }),
        Column::new(
            "resumed_bytes",
            "bytes",
            "file bytes that an earlier transfer had left",
            |row| row.run.result.resumed_bytes.to_string(),
        ),
        Column::new(
            "time_s",
            "s",
            "the result: from the first packet of the handshake to the answer that everything was written, by the sender's clock",
            |row| seconds(row.run.result.time_ns),
        ),
        Column::new("goodput_bps", "bit/s", "`bytes` over `time_s`", |row| {
            fixed(row.run.result.goodput_bps, 0)
        }),
        Column::new("handshake_s", "s", "the handshake", |row| {
            seconds(Some(row.run.result.times.handshake_ns))
        }),
        Column::new(
            "transfer_s",
            "s",
            "from the first file byte that arrived to the last",
            |row| seconds(row.run.result.times.transfer_ns),
        ),
        Column::new(
            "write_s",
            "s",
            "from there until everything was handed to the file",
            |row| seconds(row.run.result.times.write_ns),
        ),
        Column::new(
            "sync_s",
            "s",
            "from there until everything was on the disk",
            |row| seconds(row.run.result.times.sync_ns),
        ),
        Column::new(
            "verify_s",
            "s",
            "from there until the digest was compared",
            |row| seconds(row.run.result.times.verify_ns),
        ),
        Column::new(
            "datagrams",
            "datagrams",
            "sent with file bytes, repeated ones included",
            |row| optional(row.run.result.datagrams),
        ),
        Column::new(
            "retransmitted",
            "datagrams, segments",
            "sent again",
            |row| optional(row.run.result.retransmitted),
        ),
        Column::new(
            "lost",
            "datagrams",
            "taken for lost, and not acknowledged after all",
            |row| optional(row.run.result.lost),
        ),
        Column::new(
            "socket_drops",
            "datagrams",
            "dropped by the kernel for a full buffer at the receiving socket",
            |row| optional(row.run.result.socket_drops),
        ),
        Column::new(
            "sender_cpu_ns_per_byte",
            "ns",
            "CPU time of the sender's thread for each file byte",
            |row| fixed(row.run.result.sender_cpu_ns_per_byte, 6),
        ),
        Column::new(
            "receiver_cpu_ns_per_byte",
            "ns",
            "CPU time of the receiver's thread for each file byte",
            |row| fixed(row.run.result.receiver_cpu_ns_per_byte, 6),
        ),
        Column::new(
            "verified",
            "0 or 1",
            "1 when the digest is the sender's: else it is no result",
            |row| u8::from(row.run.result.verified).to_string(),
        ),
        Column::new("failure", "", "why it is no result", |row| {
            optional(row.run.result.failure.as_ref().map(ExternalText::cell))
        }),
    ];
}

/// The lines of a report: the header, then each transfer in the order in which they happened.
#[must_use]
pub fn csv_lines(report: &FileReport) -> Vec<String> {
    let rows = report.runs.iter().filter_map(|run| {
        let cell = report.cells.get(run.cell as usize)?;
        let row = TransferRow {
            cell: &cell.cell,
            run,
        };
        Some(column::row(&TransferRow::COLUMNS, &row))
    });
    std::iter::once(column::header(&TransferRow::COLUMNS))
        .chain(rows)
        .collect()
}

/// The cell of a time.
fn seconds(ns: Option<u64>) -> String {
    fixed(ns.map(|ns| ns as f64 / 1e9), 9)
}

/// The packet size, the write size and the MSS, each where the protocol has it.
const fn settings(via: &TransferVia) -> (Option<u32>, Option<u32>, Option<u32>) {
    match via {
        TransferVia::Rbt(rbt) => (Some(rbt.packet_bytes), None, None),
        TransferVia::Tcp(tcp) | TransferVia::Tls(tcp) => (None, Some(tcp.write_bytes), tcp.mss),
        TransferVia::Quic => (Some(1400), None, None),
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
            assert_eq!(
                line.split(',').count(),
                TransferRow::COLUMNS.len(),
                "{line}"
            );
        }
    }
}
