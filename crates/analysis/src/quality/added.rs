//! The delay that load adds: that of a loaded phase above the idle one.

use caudal_core::plan::Direction;
use caudal_core::quality::{AddedDelay, DelayIncrease};

/// The increase in a direction whose mean goodput is `goodput_bps`, where it carried load.
#[must_use]
pub fn added_delay(
    direction: Direction,
    increase: DelayIncrease,
    goodput_bps: Option<f64>,
) -> AddedDelay {
    let bytes = |us: f64| goodput_bps.map(|bps| us.max(0.0) / 1e6 * bps / 8.0);
    AddedDelay {
        direction,
        increase,
        queue_mean_bytes: bytes(increase.mean_us),
        queue_max_bytes: bytes(increase.max_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_the_delay_times_the_goodput() {
        let increase = DelayIncrease::above(&[40e3; 9], &[140e3, 90e3, 240e3]).unwrap();
        assert!((increase.max_us - 200e3).abs() < 1e-6 && (increase.p50_us - 100e3).abs() < 1e-6);
        assert_eq!(increase.p95_us, None);
        assert_eq!(increase.high_us(), increase.max_us);
        // 200 ms at 5 Mbit/s are 125 000 bytes.
        let added = added_delay(Direction::Up, increase, Some(5e6));
        assert!((added.queue_max_bytes.unwrap() - 125_000.0).abs() < 1e-6);
        assert_eq!(
            added_delay(Direction::Up, increase, None).queue_max_bytes,
            None
        );
        assert_eq!(DelayIncrease::above(&[], &[1.0]), None);
    }
}
