//! A test of the connection rate as comma-separated values.

use crate::column::{Column, optional};
use caudal_core::connect::ConnectInterval;

/// The columns, a row for each interval.
pub const CSV_COLUMNS: [Column<ConnectInterval>; 10] = [
    Column::new(
        "start_s",
        "s",
        "when the interval begins, after the start of the test",
        |row| format!("{:.6}", row.start_s),
    ),
    Column::new("end_s", "s", "when it ends", |row| {
        format!("{:.6}", row.end_s)
    }),
    Column::new("completed", "connections", "completed in it", |row| {
        row.completed.to_string()
    }),
    Column::new("failed", "connections", "failed in it", |row| {
        row.failed.to_string()
    }),
    Column::new(
        "connections_per_s",
        "connections/s",
        "connections completed per second",
        |row| row.per_s.to_string(),
    ),
    Column::new(
        "connect_p50_us",
        "µs",
        "median of the times to connect; empty when none connected",
        |row| optional(row.connect_p50_us),
    ),
    Column::new(
        "connect_p99_us",
        "µs",
        "99th percentile of them, from 299 values on",
        |row| optional(row.connect_p99_us),
    ),
    Column::new("connect_max_us", "µs", "maximum of them", |row| {
        optional(row.connect_max_us)
    }),
    Column::new(
        "handshake_p50_us",
        "µs",
        "median of the times of the TLS handshake; empty without TLS",
        |row| optional(row.handshake_p50_us),
    ),
    Column::new(
        "first_byte_p50_us",
        "µs",
        "median of the times to the first byte; empty when none came",
        |row| optional(row.first_byte_p50_us),
    ),
];
