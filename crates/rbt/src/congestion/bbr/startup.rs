//! Startup and Drain.

use super::phase::BbrPhase;
use super::state::{AckView, BbrState};

/// Loss events in a round that are more than a burst (`BBRStartupFullLossCnt`).
const LOSS_EVENTS: u32 = 6;
/// Maximum rounds of Drain, even if more is in flight than the model explains.
const MAX_DRAIN_ROUNDS: u64 = 3;

impl BbrState {
    /// Enters Startup.
    pub fn enter_startup(&mut self) {
        self.phase = BbrPhase::Startup;
    }

    /// Looks for the plateau of the rate.
    pub fn check_full_pipe(&mut self, ack: &AckView) {
        if ack.is_round_start && !ack.is_app_limited {
            self.full_pipe.on_round(ack.bytes_per_s);
        }
    }

    /// Leaves Startup when a whole round lost much, at many places (section 5.3.1.3). Where acknowledgements are few, losses with
    /// half of them are many places.
    pub fn check_startup_losses(&mut self, ack: &AckView) {
        let events = self.latest.losses;
        let many = events >= LOSS_EVENTS || (events >= 2 && 2 * events >= self.latest.acks);
        if self.phase == BbrPhase::Startup
            && many
            && self.is_inflight_too_high(ack.lost, ack.tx_in_flight)
        {
            self.note_ended_phase(BbrPhase::Startup);
            self.full_pipe.was_full = true;
            let bdp = self.bdp_percent(self.bw(), 100);
            self.bounds.inflight_hi = bdp.max(self.latest.inflight);
        }
    }

    /// From Startup to Drain, from Drain to ProbeBW (sections 5.3.1 and 5.3.2).
    pub fn check_startup_and_drain(&mut self, ack: &AckView) {
        if self.phase == BbrPhase::Startup && self.full_pipe.was_full {
            self.phase = BbrPhase::Drain;
            self.drain_start_round = self.rounds.count();
        }
        let is_late = self.rounds.count() > self.drain_start_round + MAX_DRAIN_ROUNDS;
        if self.phase == BbrPhase::Drain
            && (is_late || ack.in_flight <= self.inflight_percent(self.bw(), 100))
        {
            self.enter_down(ack.now_ns);
        }
    }
}
