//! The cycle of ProbeBW: slower, level, filled, faster.

use super::bounds::UNBOUNDED;
use super::phase::BbrPhase;
use super::state::{AckView, BbrState, ProbeFeedback};

/// Time between probes: 2 s to 3 s.
const MIN_WAIT_NS: u64 = 2_000_000_000;
const WAIT_SPREAD_NS: u64 = 1_000_000_000;
/// Maximum round trips between probes, so that Reno and CUBIC flows on the path find their share.
const MAX_WAIT_ROUNDS: u64 = 63;
/// Maximum doublings of the growth of `inflight_hi`.
const MAX_UP_ROUNDS: u32 = 30;

impl BbrState {
    /// Enters Down: a new cycle.
    pub fn enter_down(&mut self, now_ns: u64) {
        self.reset_latest();
        self.probe.up_acked_per_segment = UNBOUNDED;
        self.probe.rounds_since = self.rng.below(2);
        self.probe.wait_ns = MIN_WAIT_NS + self.rng.below(WAIT_SPREAD_NS);
        self.probe.cycle_start_ns = now_ns;
        self.probe.feedback = ProbeFeedback::Stopping;
        self.begin_round();
        self.phase = BbrPhase::Down;
    }

    /// Enters Cruise.
    pub fn enter_cruise(&mut self) {
        self.phase = BbrPhase::Cruise;
    }

    /// Enters Refill: the losses since the latest probe are forgotten.
    pub fn enter_refill(&mut self) {
        self.bounds.reset_lower();
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0;
        self.probe.was_precautionary = false;
        self.probe.feedback = ProbeFeedback::Refilling;
        self.begin_round();
        self.phase = BbrPhase::Refill;
    }

    fn enter_up(&mut self, ack: &AckView) {
        self.probe.feedback = ProbeFeedback::Starting;
        self.begin_round();
        self.full_pipe.search_from(ack.bytes_per_s);
        self.phase = BbrPhase::Up;
        self.raise_slope();
    }

    /// Takes a step in the cycle (section 5.3.3.6).
    pub fn update_cycle(&mut self, ack: &AckView) {
        if !self.full_pipe.was_full || self.adapt_upper_bounds(ack) {
            return;
        }
        if self.phase == BbrPhase::Up && self.is_time_to_go_down(ack) {
            self.probe.was_too_high = false;
            self.enter_down(ack.now_ns);
            return;
        }
        match self.phase {
            BbrPhase::Down | BbrPhase::Cruise if self.is_time_to_probe(ack.now_ns) => {
                self.enter_refill();
            }
            BbrPhase::Down if self.is_time_to_cruise(ack) => self.enter_cruise(),
            BbrPhase::Refill if ack.is_round_start => {
                self.probe.is_sampled = true;
                self.enter_up(ack);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now_ns: u64) -> bool {
        let probe = &self.probe;
        let target = self.target_inflight() / self.segment;
        now_ns > probe.cycle_start_ns.saturating_add(probe.wait_ns)
            || probe.rounds_since >= target.min(MAX_WAIT_ROUNDS)
    }

    fn is_time_to_cruise(&self, ack: &AckView) -> bool {
        let bdp = self.inflight_percent(self.bandwidth.max(), 100);
        ack.in_flight <= self.inflight_with_headroom().min(bdp)
    }

    fn is_time_to_go_down(&mut self, ack: &AckView) -> bool {
        let hi = self.bounds.inflight_hi;
        if self.probe.was_too_high && ack.in_flight >= hi {
            self.probe.was_precautionary = true;
            return true;
        }
        if ack.is_window_limited && self.window >= hi {
            // The limit holds the rate, not the path.
            self.full_pipe.search_from(ack.bytes_per_s);
            return false;
        }
        self.full_pipe.is_full
    }

    /// Raises `inflight_hi` while losses are few, and begins a new cycle of the bandwidth filter after a probe; `true` when it has
    /// entered another state.
    fn adapt_upper_bounds(&mut self, ack: &AckView) -> bool {
        if self.probe.feedback == ProbeFeedback::Starting && ack.is_round_start {
            self.probe.feedback = ProbeFeedback::Current;
        }
        if self.probe.feedback == ProbeFeedback::Stopping && ack.is_round_start {
            self.probe.is_sampled = false;
            self.probe.feedback = ProbeFeedback::None;
            if self.phase.is_probe_bw() && !ack.is_app_limited {
                self.bandwidth.advance();
            }
            if self.phase.is_probe_bw() && self.probe.was_precautionary && !self.probe.was_too_high
            {
                self.enter_refill();
                return true;
            }
        }
        if self.bounds.inflight_hi != UNBOUNDED
            && !self.is_inflight_too_high(ack.lost, ack.tx_in_flight)
        {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(ack.tx_in_flight);
            if self.phase == BbrPhase::Up {
                self.raise_inflight_hi(ack);
            }
        }
        false
    }

    /// By a segment in the first round, then by 2, 4, 8, …
    fn raise_inflight_hi(&mut self, ack: &AckView) {
        if !ack.is_window_limited || self.window < self.bounds.inflight_hi {
            return;
        }
        let probe = &mut self.probe;
        probe.up_acked = probe.up_acked.saturating_add(ack.bytes);
        let segments = probe.up_acked / probe.up_acked_per_segment;
        probe.up_acked %= probe.up_acked_per_segment;
        let growth = segments.saturating_mul(self.segment);
        self.bounds.inflight_hi = self.bounds.inflight_hi.saturating_add(growth);
        if ack.is_round_start {
            self.raise_slope();
        }
    }

    fn raise_slope(&mut self) {
        let growth = 1 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.probe.up_acked_per_segment = (self.window / growth).max(self.segment);
    }
}
