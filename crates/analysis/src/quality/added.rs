//! The delay that load adds: that of a loaded phase above the idle one.

use super::probe::supported;
use caudal_core::plan::Direction;
use caudal_core::quality::{AddedDelay, DelayIncrease};
use caudal_stats::nearest_rank;

/// The increase of `loaded` above `idle`, both in µs; `None` where either has no values.
#[must_use]
pub fn delay_increase(idle: &[f64], loaded: &[f64]) -> Option<DelayIncrease> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let sorted = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let base = nearest_rank(&sorted(idle), 0.5)?;
    let under_load = sorted(loaded);
    Some(DelayIncrease {
        mean_us: mean(loaded) - mean(idle),
        p50_us: nearest_rank(&under_load, 0.5)? - base,
        p95_us: supported(&under_load, 0.95).map(|us| us - base),
        p99_us: supported(&under_load, 0.99).map(|us| us - base),
        max_us: under_load.last()? - base,
    })
}

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
        let increase = delay_increase(&[40e3; 9], &[140e3, 90e3, 240e3]).unwrap();
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
        assert_eq!(delay_increase(&[], &[1.0]), None);
    }
}
