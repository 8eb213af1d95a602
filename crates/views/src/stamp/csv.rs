//! A test with STAMP as comma-separated values.

use crate::column::{Column, optional};
use caudal_core::echo::RoundTripInterval;

/// The columns, a row for each interval.
pub const CSV_COLUMNS: [Column<RoundTripInterval>; 8] = [
    Column::new(
        "start_s",
        "s",
        "when the interval begins, after the start of the test",
        |row| format!("{:.6}", row.start_s),
    ),
    Column::new("end_s", "s", "when it ends", |row| {
        format!("{:.6}", row.end_s)
    }),
    Column::new("replies", "packets", "replies that arrived in it", |row| {
        row.replies.to_string()
    }),
    Column::new(
        "lost",
        "packets",
        "packets whose time for a reply ended in it without one",
        |row| row.lost.to_string(),
    ),
    Column::new(
        "rtt_min_us",
        "µs",
        "minimum of the round-trip times, without the time at the reflector; empty without a reply",
        |row| optional(row.min_us),
    ),
    Column::new("rtt_mean_us", "µs", "mean of them", |row| {
        optional(row.mean_us)
    }),
    Column::new(
        "rtt_p99_us",
        "µs",
        "99th percentile of them, from 299 values on",
        |row| optional(row.p99_us),
    ),
    Column::new("rtt_max_us", "µs", "maximum of them", |row| {
        optional(row.max_us)
    }),
];
