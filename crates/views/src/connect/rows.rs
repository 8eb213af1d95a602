//! The intervals of a test of the connection rate, a row each.

use crate::interval_table::span_text;
use crate::text::time_us;
use caudal_core::connect::ConnectInterval;

/// The header of the rows; with a column for TLS handshakes where there are any.
#[must_use]
pub(super) fn header(tls: bool) -> String {
    let times = [
        "connect",
        "p99",
        if tls { "handshake" } else { "max" },
        "1st byte",
    ];
    cells("interval", "conn/s", "failed", &times.map(str::to_owned))
}

/// The row of an interval.
#[must_use]
pub(super) fn row(interval: &ConnectInterval, tls: bool) -> String {
    let times = [
        interval.connect_p50_us,
        interval.connect_p99_us,
        if tls {
            interval.handshake_p50_us
        } else {
            interval.connect_max_us
        },
        interval.first_byte_p50_us,
    ];
    let per_s = match interval.per_s {
        below if below < 10.0 => format!("{below:.1}"),
        per_s => format!("{per_s:.0}"),
    };
    cells(
        &span_text(interval.start_s, interval.end_s),
        &per_s,
        &interval.failed.to_string(),
        &times.map(|us| us.map_or_else(|| "–".to_owned(), time_us)),
    )
}

fn cells(interval: &str, per_s: &str, failed: &str, times: &[String; 4]) -> String {
    let [connect, p99, third, first_byte] = times;
    format!(
        "{interval:>15}  {per_s:>8}  {failed:>6}  {connect:>9}  {p99:>9}  {third:>9}  {first_byte:>9}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_fit_80_columns_below_their_header() {
        let interval = ConnectInterval {
            start_s: 2_591_998.0,
            end_s: 2_591_999.0,
            completed: 199_999,
            failed: 99_999,
            per_s: 199_999.0,
            connect_p50_us: Some(17.34),
            connect_p99_us: Some(1979.4),
            connect_max_us: Some(1_999_000.0),
            handshake_p50_us: Some(812.0),
            first_byte_p50_us: None,
        };
        for tls in [false, true] {
            let shown = row(&interval, tls);
            assert!(shown.chars().count() <= 80, "{shown}");
            assert_eq!(header(tls).chars().count(), shown.chars().count());
            assert!(
                shown.contains("17.34 µs") && shown.ends_with('–'),
                "{shown}"
            );
        }
        assert!(
            row(&interval, true).contains("812"),
            "{}",
            row(&interval, true)
        );
        let slow = ConnectInterval {
            per_s: 0.98,
            ..interval
        };
        assert!(
            row(&slow, false).contains("  1.0  "),
            "{}",
            row(&slow, false)
        );
    }
}
