//! The intervals of a test of the connection rate, a row each.

use crate::fitted_row::{FittedCell, fitted_row};
use crate::interval_table::span_text;
use crate::text::time_us;
use crate::width::LineWidth;
use caudal_core::connect::ConnectInterval;

/// The header of the rows; with a column for TLS handshakes where there are any.
#[must_use]
pub(super) fn header(tls: bool, width: LineWidth) -> String {
    let times = [
        "connect",
        "p99",
        if tls { "handshake" } else { "max" },
        "1st byte",
    ];
    let times = times.map(str::to_owned);
    cells("interval", "conn/s", "failed", times, width)
}

/// The row of an interval.
#[must_use]
pub(super) fn row(interval: &ConnectInterval, tls: bool, width: LineWidth) -> String {
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
        times.map(|us| us.map_or_else(|| "–".to_owned(), time_us)),
        width,
    )
}

fn cells(
    interval: &str,
    per_s: &str,
    failed: &str,
    times: [String; 4],
    width: LineWidth,
) -> String {
    let [connect, p99, third, first_byte] = times;
    let cells = [
        FittedCell::new(interval, 15, 0),
        FittedCell::new(per_s, 10, 0),
        FittedCell::new(failed, 8, 0),
        FittedCell::new(connect, 11, 1),
        FittedCell::new(p99, 11, 2),
        FittedCell::new(third, 11, 3),
        FittedCell::new(first_byte, 11, 4),
    ];
    fitted_row(&cells, width)
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
            let shown = row(&interval, tls, LineWidth::UNLIMITED);
            assert!(shown.chars().count() <= 80, "{shown}");
            for columns in [40, 50, 60, 70, 80] {
                let width = LineWidth::of_columns(columns);
                let narrow = row(&interval, tls, width);
                assert!(narrow.chars().count() <= columns, "{narrow}");
                assert_eq!(header(tls, width).chars().count(), narrow.chars().count());
            }
            let titles = header(tls, LineWidth::UNLIMITED);
            assert_eq!(titles.chars().count(), shown.chars().count());
            assert!(
                shown.contains("17.34 µs") && shown.ends_with('–'),
                "{shown}"
            );
        }
        assert!(
            row(&interval, true, LineWidth::UNLIMITED).contains("812"),
            "{}",
            row(&interval, true, LineWidth::UNLIMITED)
        );
        let slow = ConnectInterval {
            per_s: 0.98,
            ..interval
        };
        assert!(
            row(&slow, false, LineWidth::UNLIMITED).contains("  1.0  "),
            "{}",
            row(&slow, false, LineWidth::UNLIMITED)
        );
    }
}
