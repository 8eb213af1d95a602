//! The congestion state machine: loss detection, recovery, undo.

use caudal_link::time::SimTime;

use super::super::segment::TcpSegment;
use super::prr::RateReduction;
use super::state::{CongestionState, Sender, Timer};
use super::timers::TIMER_SLACK_NS;
use super::undo::UndoState;

/// SACKed segments that end the wait for reordering (RFC 8985 section 6.2, step 4).
const DUPLICATE_THRESHOLD: u64 = 3;

/// The use of the sender's timer after loss detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerUse {
    /// The timer waits for segments that may have been reordered.
    Reordering,
    /// The timer is free for other purposes.
    Free,
}

impl Sender {
    /// Runs the state machine of `tcp_fastretrans_alert()` in Linux for an acknowledgement that may show a loss.
    pub(super) fn process_dubious_ack(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        advances: bool,
    ) -> TimerUse {
        if self.state == CongestionState::Open {
            self.first_retransmission = None;
        } else if self.una >= self.high_seq {
            self.leave_reduction(segment);
        }
        match self.state {
            CongestionState::Recovery => {
                if advances {
                    self.undo_partial(segment);
                }
                if self.state == CongestionState::Recovery {
                    return self.detect_losses(now);
                }
            }
            CongestionState::Loss => {
                if advances && self.was_spurious(segment) {
                    self.board.unmark_losses();
                    self.undo_reduction();
                    self.state = CongestionState::Open;
                } else if self.una >= self.high_seq {
                    self.state = CongestionState::Open;
                    self.undo = None;
                } else {
                    return self.detect_losses(now);
                }
            }
            _ => {}
        }
        let is_open = matches!(
            self.state,
            CongestionState::Open | CongestionState::Disorder
        );
        if is_open && self.all_duplicates() {
            self.undo_reduction();
        }
        let timer = self.detect_losses(now);
        if self.board.lost() > 0 {
            self.enter_recovery();
        } else if self.state != CongestionState::Cwr {
            self.try_keep_open();
        }
        timer
    }

    /// Leaves a reduction or recovery when everything sent before it has been acknowledged.
    fn leave_reduction(&mut self, segment: &TcpSegment) {
        match self.state {
            CongestionState::Cwr if self.una != self.high_seq => {
                self.end_reduction();
                self.state = CongestionState::Open;
            }
            CongestionState::Recovery => {
                if self.was_spurious(segment) {
                    self.undo_reduction();
                } else {
                    self.end_reduction();
                }
                self.state = CongestionState::Open;
                self.undo = None;
            }
            _ => {}
        }
    }

    /// Enters Open, or Disorder while something is out of order (`tcp_try_keep_open()` in Linux).
    pub(super) fn try_keep_open(&mut self) {
        let is_disordered = self.board.sacked() + self.board.lost() > 0
            || self.board.has_retransmission_in_flight();
        let state = if is_disordered {
            CongestionState::Disorder
        } else {
            CongestionState::Open
        };
        if self.state != state {
            self.state = state;
            self.high_seq = self.next;
        }
    }

    pub(super) fn enter_recovery(&mut self) {
        self.counts.recoveries += 1;
        self.undo = Some(UndoState::new(self.una, &self.window));
        if self.state != CongestionState::Cwr {
            self.start_reduction();
        }
        self.state = CongestionState::Recovery;
    }

    pub(super) fn start_reduction(&mut self) {
        self.high_seq = self.next;
        self.probe = None;
        self.window.reset_credit();
        self.reduction = RateReduction::start(self.window.cwnd);
        self.window.ssthresh = self.controller.threshold(&self.window);
    }

    pub(super) fn end_reduction(&mut self) {
        if self.window.ssthresh < u64::MAX {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// `true` when the receiver has reported every retransmission as a duplicate.
    fn all_duplicates(&self) -> bool {
        self.undo.is_some_and(|undo| undo.all_duplicates())
    }

    /// `true` when the original transmissions arrived late (Eifel, RFC 3522), or all retransmissions were duplicates.
    fn was_spurious(&self, segment: &TcpSegment) -> bool {
        let is_late_original = matches!(
            (self.first_retransmission, segment.timestamp_echo),
            (Some(retransmitted), Some(echo)) if echo < retransmitted
        );
        self.undo.is_some() && (is_late_original || self.all_duplicates())
    }

    fn undo_reduction(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.counts.undone += 1;
            undo.restore(&mut self.window);
        }
    }

    /// Undoes the reduction after a partial acknowledgement of original transmissions: the others are on their way too.
    fn undo_partial(&mut self, segment: &TcpSegment) {
        if self.was_spurious(segment) && !self.board.has_retransmission_in_flight() {
            self.board.unmark_losses();
            self.undo_reduction();
            self.state = CongestionState::Open;
        }
    }

    /// The time for which reordering is tolerated (RFC 8985 section 6.2, step 4; `tcp_rack_reo_wnd()` in Linux).
    fn reordering_window_ns(&self) -> u64 {
        let has_many_sacked = self.board.sacked() >= DUPLICATE_THRESHOLD;
        if !self.rack.reordering_seen && (self.is_repairing() || has_many_sacked) {
            return 0;
        }
        let quarter = self.rtt.min_ns().unwrap_or(0) / 4;
        quarter.min(self.rtt.smoothed_ns().unwrap_or(0))
    }

    /// Marks segments that are lost by now, and starts the reordering timer if more may be.
    pub(super) fn detect_losses(&mut self, now: SimTime) -> TimerUse {
        let window_ns = self.reordering_window_ns();
        let Some(wait_ns) = self.board.detect_losses(&self.rack, window_ns, now) else {
            return TimerUse::Free;
        };
        let at = now.plus_ns(wait_ns.saturating_add(TIMER_SLACK_NS));
        self.timer = Some((at, Timer::Reordering));
        TimerUse::Reordering
    }
}
