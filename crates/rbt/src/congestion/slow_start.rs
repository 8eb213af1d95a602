//! Exponential growth of a window up to a threshold.

use super::controller::AckedPackets;
use super::hystart::{HyStartRounds, SlowStartPhase};

/// Slow start up to a threshold, with HyStart++ or without it (RFC 5681 section 3.1, RFC 9406).
#[derive(Debug, Clone)]
pub(super) struct SlowStartGrowth {
    threshold: u64,
    hystart: Option<HyStartRounds>,
    phase: SlowStartPhase,
}

impl SlowStartGrowth {
    /// Slow start that only loss ends.
    pub fn classic() -> Self {
        Self {
            threshold: u64::MAX,
            hystart: None,
            phase: SlowStartPhase::Standard,
        }
    }

    /// Slow start that a growing round-trip time ends, too, the first time.
    pub fn with_hystart() -> Self {
        Self {
            hystart: Some(HyStartRounds::default()),
            ..Self::classic()
        }
    }

    /// A reaction to congestion sets the threshold. HyStart++ is for the first slow start only (RFC 9406 section 4.3).
    pub fn set_threshold(&mut self, threshold: u64) {
        self.threshold = threshold;
        self.hystart = None;
        self.phase = SlowStartPhase::Standard;
    }

    /// Whether a window is grown by slow start.
    pub fn is_active(&self, window: u64) -> bool {
        window < self.threshold
    }

    /// Watches the round-trip times while `window` is below the threshold.
    pub fn on_acked(&mut self, acked: &AckedPackets, window: u64) {
        let Some(hystart) = &mut self.hystart else {
            return;
        };
        if window >= self.threshold {
            return;
        }
        self.phase = hystart.on_acked(acked);
        if self.phase == SlowStartPhase::Over {
            self.set_threshold(window);
        }
    }

    /// The window after `bytes` were acknowledged, and those of them that remain for congestion avoidance.
    pub fn grow(&self, window: u64, bytes: u64) -> (u64, u64) {
        let room = self.threshold.saturating_sub(window);
        let growth = self.phase.growth(bytes);
        if growth <= room {
            (window.saturating_add(growth), 0)
        } else {
            (self.threshold, bytes.saturating_sub(room))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_what_is_acknowledged() {
        let slow_start = SlowStartGrowth::classic();
        assert_eq!(slow_start.grow(10_000, 65_000), (75_000, 0));
    }

    #[test]
    fn growth_stops_at_the_threshold_and_the_rest_is_left_over() {
        let mut slow_start = SlowStartGrowth::classic();
        slow_start.set_threshold(12_000);
        assert!(slow_start.is_active(11_999) && !slow_start.is_active(12_000));
        assert_eq!(slow_start.grow(10_000, 5000), (12_000, 3000));
    }
}
