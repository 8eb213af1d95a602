//! From the model to the pacing rate and the window.

use super::super::window::{MAX_CONGESTION_WINDOW, NS_PER_S, window_rate};
use super::bounds::{UNBOUNDED, percent_of};
use super::phase::{BbrPhase, PROBE_RTT_WINDOW_PERCENT};
use super::state::{AckView, BbrState};

/// The pacing rate stays 1 % below the bandwidth, so that queues empty (`PacingMarginPercent`).
const PACING_MARGIN_PERCENT: u64 = 1;
/// The part of `inflight_hi` that is left to others, percent (`Headroom`).
const HEADROOM_PERCENT: u64 = 15;
/// Batches in flight beyond the path: one with the sender, one being segmented, one with the receiver.
const OFFLOAD_BATCHES: u64 = 3;
/// Maximum batch, bytes.
const MAX_BATCH_BYTES: u64 = 64 << 10;

impl BbrState {
    /// `percent` of the bandwidth-delay product, bytes.
    pub fn bdp_percent(&self, bw: u64, percent: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt.min_ns() else {
            return self.initial_window;
        };
        let bdp = u128::from(bw) * u128::from(min_rtt) / u128::from(NS_PER_S);
        percent_of(u64::try_from(bdp).unwrap_or(u64::MAX), percent)
    }

    /// `percent` of the bandwidth-delay product, and what offloading needs (`Inflight`).
    pub fn inflight_percent(&self, bw: u64, percent: u64) -> u64 {
        self.with_offload_budget(self.bdp_percent(bw, percent))
    }

    fn with_offload_budget(&self, inflight: u64) -> u64 {
        let batch = (self.pacing_rate.unwrap_or(0) / 1000)
            .min(MAX_BATCH_BYTES)
            .max(2 * self.segment);
        let inflight = inflight.max(OFFLOAD_BATCHES * batch).max(self.min_window);
        if self.phase == BbrPhase::Up {
            inflight.saturating_add(2 * self.segment)
        } else {
            inflight
        }
    }

    /// `inflight_hi` less the room left to others.
    pub fn inflight_with_headroom(&self) -> u64 {
        let hi = self.bounds.inflight_hi;
        if hi == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = percent_of(hi, HEADROOM_PERCENT).max(self.segment);
        hi.saturating_sub(headroom).max(self.min_window)
    }

    /// The window in ProbeRTT.
    pub fn probe_rtt_window(&self) -> u64 {
        self.bdp_percent(self.bw(), PROBE_RTT_WINDOW_PERCENT)
            .max(self.min_window)
    }

    /// Paces at `percent` of the bandwidth; before the path was full once, no slower than before (section 5.6.2).
    pub fn set_pacing_rate(&mut self, percent: u64) {
        let rate = percent_of(percent_of(self.bw(), percent), 100 - PACING_MARGIN_PERCENT);
        let is_faster = self.pacing_rate.is_none_or(|current| rate > current);
        if rate > 0 && (self.full_pipe.was_full || is_faster) {
            self.pacing_rate = Some(rate);
        }
    }

    /// Before there is a bandwidth, the initial window each round trip, with the gain of Startup.
    pub fn init_pacing_rate(&mut self, smoothed_rtt_ns: u64) {
        if self.pacing_rate.is_none() {
            let percent = BbrPhase::Startup.pacing_percent();
            self.pacing_rate = window_rate(self.initial_window, smoothed_rtt_ns, percent);
        }
    }

    /// Sets the window after an acknowledgement (section 5.6.4.6).
    pub fn set_window(&mut self, ack: &AckView) {
        let bdp = self.bdp_percent(self.bw(), self.phase.window_percent());
        let max = self.with_offload_budget(bdp.saturating_add(self.aggregation.extra()));
        let grown = self.window.saturating_add(ack.bytes);
        if self.full_pipe.was_full {
            self.window = grown.min(max);
        } else if self.window < max || self.delivered < self.initial_window {
            self.window = grown;
        }
        self.window = self.window.max(self.min_window);
        if self.phase == BbrPhase::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.window = self
            .window
            .min(self.window_bound())
            .min(MAX_CONGESTION_WINDOW);
    }

    /// The limit that losses set for the window (section 5.6.4.7).
    fn window_bound(&self) -> u64 {
        let hi = match self.phase {
            BbrPhase::Down | BbrPhase::Refill | BbrPhase::Up => self.bounds.inflight_hi,
            BbrPhase::Cruise | BbrPhase::ProbeRtt => self.inflight_with_headroom(),
            BbrPhase::Startup | BbrPhase::Drain => UNBOUNDED,
        };
        hi.min(self.bounds.inflight_lo).max(self.min_window)
    }
}
