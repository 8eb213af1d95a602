//! A fixed rate that nothing slows down: for links that nobody else uses.

use super::controller::{AckedPackets, CongestionController, LostPackets, SentPackets};
use super::window::{MAX_CONGESTION_WINDOW, NS_PER_S, WindowLimits};

/// Minimum time's worth of data in the window, ns.
const MIN_WINDOW_NS: u64 = NS_PER_S;
/// Round trips' worth of data in the window.
const WINDOW_ROUND_TRIPS: u64 = 2;

/// A fixed rate: pacing alone limits it.
#[derive(Debug, Clone)]
pub struct FixedController {
    limits: WindowLimits,
    bytes_per_s: u64,
    smoothed_rtt_ns: u64,
}

impl FixedController {
    /// The controller of a session that sends datagrams with `packet_bytes` of payload at `bits_per_s`, headers of RBT included.
    #[must_use]
    pub fn new(packet_bytes: u32, bits_per_s: u64) -> Self {
        Self {
            limits: WindowLimits::new(packet_bytes),
            bytes_per_s: (bits_per_s / 8).max(1),
            smoothed_rtt_ns: 0,
        }
    }
}

impl CongestionController for FixedController {
    fn on_sent(&mut self, _sent: &SentPackets) {}

    fn on_acked(&mut self, acked: &AckedPackets) {
        self.smoothed_rtt_ns = acked.smoothed_rtt_ns;
    }

    fn on_lost(&mut self, _lost: &LostPackets) {}

    fn on_spurious_loss(&mut self, _now_ns: u64) {}

    /// What leaves in a second or in two round trips, whichever is more: only a path that is silent for so long stops the sender.
    fn window(&self) -> u64 {
        let time_ns = MIN_WINDOW_NS.max(self.smoothed_rtt_ns.saturating_mul(WINDOW_ROUND_TRIPS));
        let bytes = u128::from(self.bytes_per_s) * u128::from(time_ns) / u128::from(NS_PER_S);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        bytes
            .saturating_add(self.limits.initial)
            .min(MAX_CONGESTION_WINDOW)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.bytes_per_s)
    }

    fn is_slow_start(&self) -> bool {
        false
    }

    fn name(&self) -> &'static str {
        "fixed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::controller::{sample_ack, sample_loss};

    #[test]
    fn the_rate_is_constant_and_loss_changes_nothing() {
        let mut fixed = FixedController::new(1400, 80_000_000);
        let window = fixed.window();
        fixed.on_lost(&LostPackets {
            is_persistent: true,
            ..sample_loss(1000, 0)
        });
        assert_eq!(fixed.pacing_rate(), Some(10_000_000));
        assert_eq!((window, fixed.window()), (10_014_480, 10_014_480));
    }

    #[test]
    fn the_window_grows_with_a_long_round_trip() {
        let mut fixed = FixedController::new(1400, 80_000_000);
        fixed.on_acked(&AckedPackets {
            smoothed_rtt_ns: 3_000_000_000,
            ..sample_ack(0, 1420)
        });
        assert_eq!(fixed.window(), 60_014_480);
    }
}
