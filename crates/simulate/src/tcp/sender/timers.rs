//! Timers: retransmission timeout, tail loss probe, reordering.

use caudal_link::time::SimTime;

use super::super::rtt::{RTO_MAX_NS, RTO_MIN_NS};
use super::super::segment::SegmentRange;
use super::prr::ReductionAck;
use super::state::{CongestionState, Sender, TailLossProbe, Timer};
use super::undo::UndoState;

/// The slack of timers: 2 ms (`TCP_TIMEOUT_MIN_US` in Linux include/net/tcp.h) and half a tick of 4 ms.
pub(super) const TIMER_SLACK_NS: u64 = 4_000_000;
/// The slack of a probe for a single segment, whose acknowledgement may be delayed (RFC 8985 section 7.2, with Linux's
/// 200 ms).
const SINGLE_SEGMENT_SLACK_NS: u64 = RTO_MIN_NS;
/// Maximum number of doublings of the retransmission timeout.
const MAX_BACKOFF: u32 = 16;

impl Sender {
    /// The retransmission timeout with its backoff.
    fn timeout_ns(&self) -> u64 {
        let base = self.rtt.timeout_ns();
        base.saturating_mul(1 << self.backoff.min(MAX_BACKOFF))
            .min(RTO_MAX_NS)
    }

    /// The time since the last transmission and the retransmission timeout, in nanoseconds, if the former is longer.
    pub(super) fn idle_beyond_timeout(&self, now: SimTime) -> Option<(u64, u64)> {
        let (idle, timeout) = (now.ns_since(self.last_sent), self.timeout_ns());
        (idle > timeout).then_some((idle, timeout))
    }

    /// Restarts the timer: for a tail loss probe if one may help, otherwise for the timeout (`tcp_set_xmit_timer()`).
    pub(super) fn restart_timer(&mut self, now: SimTime) {
        if self.board.len() == 0 {
            self.timer = None;
        } else if !self.schedule_probe(now, ProbeLimit::FullTimeout) {
            self.restart_timeout(now);
        }
    }

    /// The time until the timeout of the first segment, which a probe or a wait for reordering does not postpone.
    fn remaining_timeout_ns(&self, now: SimTime) -> u64 {
        let head = self.board.head_sent_at().unwrap_or(now);
        head.plus_ns(self.timeout_ns()).ns_since(now).max(1)
    }

    /// Starts the full timeout from `now` on.
    pub(super) fn start_timeout(&mut self, now: SimTime) {
        let at = now.plus_ns(self.timeout_ns());
        self.timer = Some((at, Timer::Retransmission));
    }

    /// Starts the timeout: what remains of it after a probe or reordering timer, otherwise all of it (`tcp_rearm_rto()`).
    pub(super) fn restart_timeout(&mut self, now: SimTime) {
        match self.timer {
            Some((_, Timer::Probe | Timer::Reordering)) => self.start_remaining_timeout(now),
            _ => self.start_timeout(now),
        }
    }

    fn start_remaining_timeout(&mut self, now: SimTime) {
        let at = now.plus_ns(self.remaining_timeout_ns(now));
        self.timer = Some((at, Timer::Retransmission));
    }

    /// Schedules a tail loss probe if one may help (RFC 8985 section 7.2; `tcp_schedule_loss_probe()`); `false` otherwise.
    pub(super) fn schedule_probe(&mut self, now: SimTime, limit: ProbeLimit) -> bool {
        let is_allowed = matches!(self.state, CongestionState::Open | CongestionState::Cwr);
        if !is_allowed || self.board.sacked() > 0 {
            return false;
        }
        let Some(smoothed) = self.rtt.smoothed_ns() else {
            return false;
        };
        let slack = if self.board.len() == 1 {
            SINGLE_SEGMENT_SLACK_NS
        } else {
            TIMER_SLACK_NS
        };
        let timeout = match limit {
            ProbeLimit::FullTimeout => self.timeout_ns(),
            ProbeLimit::RemainingTimeout => self.remaining_timeout_ns(now),
        };
        let wait_ns = (2 * smoothed + slack).min(timeout);
        self.timer = Some((now.plus_ns(wait_ns), Timer::Probe));
        true
    }

    /// Processes the timer if it is due.
    pub(in crate::tcp) fn wake(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) {
        let Some((_, timer)) = self.timer.take_if(|(at, _)| *at <= now) else {
            return;
        };
        if self.board.len() == 0 {
            return;
        }
        match timer {
            Timer::Retransmission => self.on_timeout(now, out),
            Timer::Probe => self.send_probe(now, out),
            Timer::Reordering => self.on_reordering_timer(now, out),
        }
        self.record_cwnd(now);
    }

    /// Marks segments as lost that have not arrived within the reordering window (`tcp_rack_reo_timeout()`).
    fn on_reordering_timer(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) {
        let previous_losses = self.board.losses;
        self.detect_losses(now);
        let lost = self.board.losses - previous_losses;
        if lost > 0 {
            if !self.is_repairing() {
                self.enter_recovery();
            }
            if self.state == CongestionState::Recovery {
                self.reduce_window(ReductionAck {
                    delivered: 1,
                    lost,
                    advances: false,
                });
            }
            self.transmit(now, out);
        }
        if self.timer.is_none() {
            self.start_remaining_timeout(now);
        }
    }

    /// Sends new data, or retransmits the last segment, so that the loss of the tail is detected before the timeout
    /// (RFC 8985 section 7.3).
    fn send_probe(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) {
        if self.probe.is_none() {
            let is_retransmission = !self.send_new(now, out);
            if is_retransmission && let Some(last) = self.board.last() {
                self.retransmit(now, last, out);
            }
            self.counts.probes += 1;
            self.probe = Some(TailLossProbe {
                end: self.next,
                is_retransmission,
            });
        }
        self.start_timeout(now);
    }

    /// Processes the retransmission timeout (RFC 6298 section 5; `tcp_enter_loss()`).
    fn on_timeout(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) {
        self.counts.timeouts += 1;
        let is_first = match self.state {
            CongestionState::Open | CongestionState::Disorder => true,
            CongestionState::Loss if self.backoff == 0 => true,
            _ => self.high_seq <= self.una,
        };
        if is_first {
            self.undo = Some(UndoState::new(self.una, &self.window));
            self.window.ssthresh = self.controller.threshold(&self.window);
        }
        self.controller.on_timeout(now, self.next);
        self.board.mark_lost_on_timeout(&self.rack, now);
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.reset_credit();
        self.state = CongestionState::Loss;
        self.high_seq = self.next;
        self.probe = None;
        if let Some(number) = self.board.next_to_retransmit() {
            self.retransmit(now, number, out);
        }
        self.backoff += 1;
        self.start_timeout(now);
    }
}

/// The latest time of a tail loss probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeLimit {
    /// A full retransmission timeout from now.
    FullTimeout,
    /// The timeout of the first unacknowledged segment.
    RemainingTimeout,
}
