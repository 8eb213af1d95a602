//! The round trips of a test that is under way: a row for each interval.

use crate::fitted_row::{FittedCell, fitted_row};
use crate::interval_table::span_text;
use crate::text::time_us;
use crate::width::LineWidth;
use caudal_core::echo::RoundTripInterval;

/// The header of the rows in lines of this width.
#[must_use]
pub fn live_header(width: LineWidth) -> String {
    cells(
        "interval",
        "replies",
        "lost",
        ["min", "avg", "p99", "max"].map(str::to_owned),
        width,
    )
}

/// The row of an interval, each time in the unit that fits it.
#[must_use]
pub fn live_row(interval: &RoundTripInterval, width: LineWidth) -> String {
    let times = [
        interval.min_us,
        interval.mean_us,
        interval.p99_us,
        interval.max_us,
    ];
    cells(
        &span_text(interval.start_s, interval.end_s),
        &interval.replies.to_string(),
        &interval.lost.to_string(),
        times.map(|us| us.map_or_else(|| "–".to_owned(), time_us)),
        width,
    )
}

fn cells(
    interval: &str,
    replies: &str,
    lost: &str,
    times: [String; 4],
    width: LineWidth,
) -> String {
    let [min, avg, p99, max] = times;
    let cells = [
        FittedCell::new(interval, 15, 0),
        FittedCell::new(replies, 10, 4),
        FittedCell::new(lost, 8, 0),
        FittedCell::new(min, 11, 2),
        FittedCell::new(avg, 11, 0),
        FittedCell::new(p99, 11, 1),
        FittedCell::new(max, 11, 3),
    ];
    fitted_row(&cells, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::echo::IntervalBounds;

    #[test]
    fn rows_fit_80_columns_and_times_have_the_unit_that_fits() {
        let bounds = IntervalBounds {
            start_s: 2_591_998.0,
            end_s: 2_591_999.0,
        };
        let times: Vec<u64> = (0..999_999_u64).map(|nth| 17_340 + nth * 1_999).collect();
        let row = live_row(
            &RoundTripInterval::new(bounds, 64, 999_999, &times),
            LineWidth::UNLIMITED,
        );
        assert!(row.chars().count() <= 80, "{row}");
        for part in ["17.34 µs", "1.979 s", "1.999 s", "999999"] {
            assert!(row.contains(part), "{part}: {row}");
        }
        assert_eq!(
            live_header(LineWidth::UNLIMITED).chars().count(),
            row.chars().count()
        );
        for columns in [40, 50, 60, 70, 80] {
            let width = LineWidth::of_columns(columns);
            let row = live_row(&RoundTripInterval::new(bounds, 64, 3, &times), width);
            assert!(row.chars().count() <= columns, "{row}");
            assert_eq!(live_header(width).chars().count(), row.chars().count());
            assert_eq!(row.contains("1.979 s"), columns >= 45, "{row}");
        }
        let none = live_row(
            &RoundTripInterval::new(bounds, 64, 3, &[]),
            LineWidth::UNLIMITED,
        );
        assert!(none.ends_with('–'), "{none}");
    }
}
