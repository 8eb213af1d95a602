//! Rates, delays and counts as the tree, the drawing and the table show them.

use caudal_core::quantity::{self, Unit};
use caudal_link::lab_report::DirectionState;

/// The rate of a direction, `10 Mbit/s`.
pub(super) fn rate(direction: &DirectionState) -> String {
    direction.rate_bps.map_or_else(
        || "no rate limit".to_owned(),
        |bps| Unit::BitPerSecond.show(bps as f64),
    )
}

/// The delay of a direction; `None` where it is 0.
pub(super) fn delay(direction: &DirectionState) -> Option<String> {
    (direction.delay_us > 0.0).then(|| Unit::Seconds.show(direction.delay_us / 1e6))
}

/// The text of a count.
pub(super) fn count(count: u64) -> String {
    quantity::short(count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_five_digits_and_more_are_grouped_by_three() {
        let table = [
            (0, "0"),
            (999, "999"),
            (1000, "1000"),
            (1_234_567, "1 234 567"),
        ];
        for (number, text) in table {
            assert_eq!(count(number), text);
        }
    }
}
