//! ProbeRTT: little in flight for 200 ms, every 5 s that did not show the path's round-trip time by themselves.

use super::phase::BbrPhase;
use super::state::{AckView, BbrState, ProbeFeedback, RttProbe};

/// The time with little in flight (`ProbeRTTDuration`).
const DURATION_NS: u64 = 200_000_000;

impl BbrState {
    /// Enters, continues or leaves ProbeRTT (section 5.3.4.3).
    pub fn check_probe_rtt(&mut self, ack: &AckView) {
        let is_due = self.min_rtt.is_probe_due && !self.is_restarting;
        if self.phase != BbrPhase::ProbeRtt && is_due {
            self.save_window();
            self.phase = BbrPhase::ProbeRtt;
            self.rtt_probe = RttProbe::default();
            self.probe.feedback = ProbeFeedback::Stopping;
            self.begin_round();
        }
        if self.phase == BbrPhase::ProbeRtt {
            self.continue_probe_rtt(ack);
        }
        if ack.bytes > 0 {
            self.is_restarting = false;
        }
    }

    fn continue_probe_rtt(&mut self, ack: &AckView) {
        self.limited_until = self.delivered.saturating_add(ack.in_flight);
        if self.rtt_probe.done_ns.is_none() {
            if ack.in_flight <= self.probe_rtt_window() {
                self.rtt_probe.done_ns = Some(ack.now_ns.saturating_add(DURATION_NS));
                self.begin_round();
            }
            return;
        }
        self.rtt_probe.is_round_done |= ack.is_round_start;
        if self.rtt_probe.is_round_done {
            self.check_probe_rtt_done(ack.now_ns);
        }
    }

    /// Leaves ProbeRTT when its time is over.
    pub fn check_probe_rtt_done(&mut self, now_ns: u64) {
        if self.rtt_probe.done_ns.is_none_or(|done| now_ns <= done) {
            return;
        }
        self.min_rtt.on_probed(now_ns);
        self.restore_window();
        self.bounds.reset_lower();
        if self.full_pipe.was_full {
            self.enter_down(now_ns);
            self.enter_cruise();
        } else {
            self.enter_startup();
        }
    }
}
