//! A test of latency under load as comma-separated values.

use caudal_core::quality::QualityInterval;

/// The columns: times in s and µs, rates in bit/s; empty where a quantity is absent.
pub const CSV_COLUMNS: &str =
    "load,start_s,end_s,down_bps,up_bps,retransmitted,rtt_us,rtt_max_us,tcp_rtt_us,probes,lost";

/// The row of an interval.
#[must_use]
pub fn csv_row(interval: &QualityInterval) -> String {
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    [
        interval.load.name().to_owned(),
        format!("{:.6}", interval.start_s),
        format!("{:.6}", interval.end_s),
        optional(interval.down_bps),
        optional(interval.up_bps),
        optional(interval.retransmitted),
        optional(interval.rtt_us),
        optional(interval.rtt_max_us),
        optional(interval.tcp_rtt_us),
        interval.probes.to_string(),
        interval.lost.to_string(),
    ]
    .join(",")
}
