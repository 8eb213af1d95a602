//! The round trips of a test that is under way: a row for each interval.

use crate::interval_table::span_text;
use crate::text::time_us;
use caudal_core::echo::RoundTripInterval;

/// The header of the rows.
#[must_use]
pub fn live_header() -> String {
    cells(
        "interval",
        "replies",
        "lost",
        ["min", "avg", "p99", "max"].map(str::to_owned),
    )
}

/// The row of an interval, each time in the unit that fits it.
#[must_use]
pub fn live_row(interval: &RoundTripInterval) -> String {
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
    )
}

fn cells(interval: &str, replies: &str, lost: &str, times: [String; 4]) -> String {
    let [min, avg, p99, max] = times;
    format!("{interval:>15}  {replies:>8}  {lost:>6}  {min:>9}  {avg:>9}  {p99:>9}  {max:>9}")
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
        let row = live_row(&RoundTripInterval::new(bounds, 64, 999_999, &times));
        assert!(row.chars().count() <= 80, "{row}");
        for part in ["17.34 µs", "1.979 s", "1.999 s", "999999"] {
            assert!(row.contains(part), "{part}: {row}");
        }
        assert_eq!(live_header().chars().count(), row.chars().count());
        let none = live_row(&RoundTripInterval::new(bounds, 64, 3, &[]));
        assert!(none.ends_with('–'), "{none}");
    }
}
