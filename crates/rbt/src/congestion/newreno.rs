//! NewReno: half the window at a loss, one segment more each round trip.
//!
//! Source: RFC 9002 section 7, RFC 5681.

use super::controller::{AckedPackets, CongestionController, LostPackets, SentPackets};
use super::recovery::RecoveryPeriod;
use super::slow_start::SlowStartGrowth;
use super::window::{NOMINAL_DATAGRAM_BYTES, WindowLimits, window_rate};

/// The pacing rate in percent of a window each round trip (Linux, `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const SLOW_START_PACING_PERCENT: u64 = 200;
const AVOIDANCE_PACING_PERCENT: u64 = 120;

/// What a reaction to congestion changes, and its undoing restores.
#[derive(Debug, Clone)]
struct NewRenoState {
    window: u64,
    slow_start: SlowStartGrowth,
    /// The part of the growth that is no whole byte.
    growth_rest: u128,
}

/// NewReno, counted in bytes.
#[derive(Debug, Clone)]
pub struct NewRenoController {
    limits: WindowLimits,
    state: NewRenoState,
    before_reaction: Option<NewRenoState>,
    recovery: RecoveryPeriod,
    smoothed_rtt_ns: u64,
}

impl NewRenoController {
    /// The controller of a new session whose packets have `packet_bytes` of payload.
    #[must_use]
    pub fn new(packet_bytes: u32) -> Self {
        let limits = WindowLimits::new(packet_bytes);
        Self {
            limits,
            state: NewRenoState {
                window: limits.initial,
                slow_start: SlowStartGrowth::classic(),
                growth_rest: 0,
            },
            before_reaction: None,
            recovery: RecoveryPeriod::default(),
            smoothed_rtt_ns: 0,
        }
    }

    /// One reaction to congestion for each round trip.
    fn react(&mut self, now_ns: u64, newest_sent_ns: u64) -> bool {
        if self.recovery.covers(newest_sent_ns) {
            return false;
        }
        self.recovery.begin(now_ns);
        self.before_reaction = Some(self.state.clone());
        self.state.window = self.limits.clamp(self.state.window / 2);
        self.state.slow_start.set_threshold(self.state.window);
        self.state.growth_rest = 0;
        true
    }

    fn grow(&mut self, bytes: u64) {
        let state = &mut self.state;
        let mut rest = bytes;
        if state.slow_start.is_active(state.window) {
            (state.window, rest) = state.slow_start.grow(state.window, bytes);
        }
        let window = self.limits.clamp(state.window);
        let amount =
            u128::from(rest.min(window)) * u128::from(NOMINAL_DATAGRAM_BYTES) + state.growth_rest;
        state.growth_rest = amount % u128::from(window);
        let growth = u64::try_from(amount / u128::from(window)).unwrap_or(u64::MAX);
        state.window = self.limits.clamp(window.saturating_add(growth));
    }
}

impl CongestionController for NewRenoController {
    fn on_sent(&mut self, _sent: &SentPackets) {}

    fn on_acked(&mut self, acked: &AckedPackets) {
        self.smoothed_rtt_ns = acked.smoothed_rtt_ns;
        if acked.marked > 0 && self.react(acked.now_ns, acked.newest_sent_ns) {
            // Marks are no mistake that later packets could reveal.
            self.before_reaction = None;
        }
        if acked.is_window_limited && !self.recovery.covers(acked.newest_sent_ns) {
            self.grow(acked.bytes);
        }
    }

    fn on_lost(&mut self, lost: &LostPackets) {
        self.react(lost.now_ns, lost.newest_sent_ns);
        if lost.is_persistent {
            self.recovery.begin(lost.now_ns);
            self.state.window = self.limits.min;
        }
    }

    fn on_spurious_loss(&mut self, _now_ns: u64) {
        if let Some(before) = self.before_reaction.take() {
            let window = self.state.window.max(before.window);
            self.state = before;
            self.state.window = window;
            self.recovery.end();
        }
    }

    fn window(&self) -> u64 {
        self.state.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        let percent = if self.is_slow_start() {
            SLOW_START_PACING_PERCENT
        } else {
            AVOIDANCE_PACING_PERCENT
        };
        window_rate(self.state.window, self.smoothed_rtt_ns, percent)
    }

    fn is_slow_start(&self) -> bool {
        self.state.slow_start.is_active(self.state.window)
    }

    fn name(&self) -> &'static str {
        "newreno"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::controller::{sample_ack, sample_loss};

    const MSS: u64 = 1448;
    const MS: u64 = 1_000_000;

    #[test]
    fn the_window_grows_by_a_nominal_segment_each_round_trip_in_parts_of_any_size() {
        for parts in [1, 7, 100] {
            let mut reno = NewRenoController::new(100);
            reno.state.window = 200 * MSS;
            reno.on_lost(&sample_loss(100 * MS, 90 * MS));
            assert_eq!(reno.window(), 100 * MSS);
            for part in 0..parts {
                reno.on_acked(&sample_ack(200 * MS + part, 100 * MSS / parts));
            }
            assert!((101 * MSS - 30..=101 * MSS).contains(&reno.window()));
        }
    }

    #[test]
    fn packets_of_the_round_that_lost_do_not_grow_the_window() {
        let mut reno = NewRenoController::new(1400);
        reno.state.window = 200 * MSS;
        reno.on_lost(&sample_loss(100 * MS, 90 * MS));
        reno.on_acked(&sample_ack(140 * MS, 50 * MSS));
        assert_eq!(reno.window(), 100 * MSS);
    }

    #[test]
    fn slow_start_ends_at_the_threshold_within_an_acknowledgement() {
        let mut reno = NewRenoController::new(1400);
        reno.state.slow_start.set_threshold(20 * MSS);
        reno.on_acked(&sample_ack(50 * MS, 30 * MSS));
        assert_eq!(reno.window(), 21 * MSS);
    }

    #[test]
    fn spurious_loss_restores_slow_start() {
        let mut reno = NewRenoController::new(1400);
        reno.on_acked(&sample_ack(50 * MS, 100 * MSS));
        reno.on_lost(&sample_loss(100 * MS, 90 * MS));
        assert!(!reno.is_slow_start());
        reno.on_spurious_loss(120 * MS);
        assert!(reno.is_slow_start());
        assert_eq!(reno.window(), 110 * MSS);
    }
}
