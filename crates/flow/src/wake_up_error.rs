//! The wake-up error of a thread: how late it runs after the time it asked to be woken at. Times are arguments.

/// Maximum step of an estimate, relative to it.
const STEP_PART: f64 = 1.0 / 8.0;
/// Minimum step of an estimate, ns.
const MIN_STEP_NS: f64 = 400.0;
/// Initial estimate, ns: what an idle machine with high-resolution timers needs.
const FIRST_NS: f64 = 10_000.0;
/// Maximum estimate, ns: a thread that wakes later than this waits for a processor, not for its timer.
const MAX_NS: f64 = 1_000_000.0;

/// An estimate of one quantile of the values seen, which follows them when they change.
///
/// Each value moves it: up by a step times the quantile when the value is larger, down by a step times the rest when it is
/// not. It comes to rest where the share of larger values is that of the quantile.
///
/// Source: stochastic approximation of quantiles, Robbins and Monro, "A Stochastic Approximation Method", 1951.
#[derive(Debug, Clone, Copy)]
struct QuantileEstimate {
    quantile: f64,
    value_ns: f64,
}

impl QuantileEstimate {
    const fn new(quantile: f64) -> Self {
        Self {
            quantile,
            value_ns: FIRST_NS,
        }
    }

    fn learn(&mut self, value_ns: f64) {
        let step_ns = (self.value_ns * STEP_PART).max(MIN_STEP_NS);
        let change = if value_ns > self.value_ns {
            step_ns * self.quantile
        } else {
            -step_ns * (1.0 - self.quantile)
        };
        self.value_ns = (self.value_ns + change).clamp(0.0, MAX_NS);
    }
}

/// The wake-up error as learnt from the wake-ups so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct WakeUpError {
    usual: QuantileEstimate,
    high: QuantileEstimate,
}

impl Default for WakeUpError {
    fn default() -> Self {
        Self {
            usual: QuantileEstimate::new(0.5),
            high: QuantileEstimate::new(0.95),
        }
    }
}

impl WakeUpError {
    /// Learns from a thread that asked for `asked_ns` and ran at `woken_ns`.
    pub(super) fn learn(&mut self, asked_ns: u64, woken_ns: u64) {
        let error_ns = woken_ns.saturating_sub(asked_ns) as f64;
        self.usual.learn(error_ns);
        self.high.learn(error_ns);
    }

    /// The error that half of the wake-ups exceed, ns.
    pub(super) const fn usual_ns(&self) -> f64 {
        self.usual.value_ns
    }

    /// The error that one wake-up in twenty exceeds, ns.
    pub(super) const fn high_ns(&self) -> f64 {
        self.high.value_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The errors of a thread that wakes up evenly distributed between `min` and `max` ns late.
    fn learn(error: &mut WakeUpError, wake_ups: u64, min: u64, max: u64) {
        for n in 0..wake_ups {
            // A multiplier coprime to the range visits its values evenly.
            let late = min + n * 7919 % (max - min + 1);
            error.learn(1_000_000, 1_000_000 + late);
        }
    }

    #[test]
    fn an_error_of_50_us_is_learnt_and_forgotten() {
        let mut error = WakeUpError::default();
        learn(&mut error, 100, 50_000, 50_000);
        assert!((45_000.0..55_000.0).contains(&error.usual_ns()));
        learn(&mut error, 200, 5_000, 5_000);
        assert!((4_500.0..5_500.0).contains(&error.usual_ns()));
    }

    #[test]
    fn the_quantiles_of_scattered_errors_are_learnt() {
        let mut error = WakeUpError::default();
        learn(&mut error, 10_000, 10_000, 30_000);
        assert!(
            (17_000.0..23_000.0).contains(&error.usual_ns()),
            "{error:?}"
        );
        assert!((26_000.0..33_000.0).contains(&error.high_ns()), "{error:?}");
    }

    #[test]
    fn a_thread_that_was_not_run_for_a_while_changes_little() {
        let mut error = WakeUpError::default();
        learn(&mut error, 1000, 10_000, 12_000);
        error.learn(0, 20_000_000);
        assert!(error.usual_ns() < 13_000.0);
    }

    #[test]
    fn waking_early_is_no_error() {
        let mut error = WakeUpError::default();
        for _ in 0..1000 {
            error.learn(2_000_000, 1_000_000);
        }
        assert!(error.usual_ns() < MIN_STEP_NS && error.high_ns() < 2.0 * MIN_STEP_NS);
    }
}
