//! A test of latency under load as comma-separated values.

use crate::column::{Column, optional};
use caudal_core::quality::QualityInterval;

/// The columns, a row for each interval.
pub const CSV_COLUMNS: [Column<QualityInterval>; 11] = [
    Column::new(
        "load",
        "",
        "the load of the phase: `idle`, `download`, `upload` or `both`",
        |row| row.load.name().to_owned(),
    ),
    Column::new(
        "start_s",
        "s",
        "when the interval begins, after the start of the test",
        |row| format!("{:.6}", row.start_s),
    ),
    Column::new("end_s", "s", "when it ends", |row| {
        format!("{:.6}", row.end_s)
    }),
    Column::new(
        "down_bps",
        "bit/s",
        "goodput of all flows from the server; empty without such flows",
        |row| optional(row.down_bps),
    ),
    Column::new(
        "up_bps",
        "bit/s",
        "goodput of all flows to the server; empty without such flows",
        |row| optional(row.up_bps),
    ),
    Column::new(
        "retransmitted",
        "share, 0 to 1",
        "payload the flows sent again; empty without load",
        |row| optional(row.retransmitted),
    ),
    Column::new(
        "rtt_us",
        "µs",
        "median round-trip time of the UDP probes due in it; empty when none came back",
        |row| optional(row.rtt_us),
    ),
    Column::new("rtt_max_us", "µs", "maximum of them", |row| {
        optional(row.rtt_max_us)
    }),
    Column::new(
        "tcp_rtt_us",
        "µs",
        "median round-trip time of the TCP probe",
        |row| optional(row.tcp_rtt_us),
    ),
    Column::new("probes", "probes", "UDP probes due in it", |row| {
        row.probes.to_string()
    }),
    Column::new(
        "lost",
        "probes",
        "of these, overtaken by later ones",
        |row| row.lost.to_string(),
    ),
];
