//! Acknowledgements.

use caudal_link::time::SimTime;

use super::super::cubic::DelaySample;
use super::super::scoreboard::AckSummary;
use super::super::segment::{SegmentRange, TcpSegment};
use super::prr::ReductionAck;
use super::recovery::TimerUse;
use super::state::{CongestionState, Sender};

impl Sender {
    /// Processes an acknowledgement and sends what it allows.
    ///
    /// Follows `tcp_ack()` in Linux net/ipv4/tcp_input.c.
    pub(in crate::tcp) fn acknowledge(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        out: &mut Vec<SegmentRange>,
    ) {
        let acknowledged = segment.acknowledgment;
        if acknowledged > self.next {
            return;
        }
        let (previous_una, previous_losses) = (self.una, self.board.losses);
        self.update_peer_window(segment);
        let summary = self.update_scoreboard(now, segment);
        let advances = self.una > previous_una;
        self.counts.delivered += summary.delivered;
        let restarts_timer = self.sample_rtt(now, segment, &summary, advances);
        self.process_probe_ack(segment, &summary, advances);
        let is_dubious = summary.sacked > 0
            || segment.sack.first_is_dsack()
            || self.state != CongestionState::Open
            || self.board.lost() > 0;
        let timer = if is_dubious {
            self.process_dubious_ack(now, segment, advances)
        } else {
            TimerUse::Free
        };
        if restarts_timer && timer == TimerUse::Free {
            self.restart_timer(now);
        }
        if self.is_reducing() {
            self.reduce_window(ReductionAck {
                delivered: summary.delivered,
                lost: self.board.losses - previous_losses,
                advances,
            });
        } else if summary.delivered > 0
            && (advances || self.rack.reordering_seen)
            && self.usage.is_limiting(&self.window)
        {
            self.controller
                .grow(&mut self.window, summary.delivered, now);
        }
        self.transmit(now, out);
        self.record_cwnd(now);
    }

    fn update_peer_window(&mut self, segment: &TcpSegment) {
        let end = segment.acknowledgment.saturating_add(segment.window);
        self.window_end = self.window_end.max(end);
        self.peer_window = segment.window;
        self.max_peer_window = self.max_peer_window.max(segment.window);
    }

    /// Processes the SACK blocks and the cumulative acknowledgement.
    fn update_scoreboard(&mut self, now: SimTime, segment: &TcpSegment) -> AckSummary {
        let mut summary = AckSummary::default();
        let min_rtt_ns = self.rtt.min_ns();
        let blocks = &segment.sack;
        if blocks.first_is_dsack() {
            self.process_dsack(segment);
        }
        if blocks.count() > 0 {
            self.board
                .mark_sacked(blocks, now, &mut self.rack, min_rtt_ns, &mut summary);
        }
        let acknowledged = segment.acknowledgment;
        if acknowledged > self.una {
            self.una = acknowledged;
            self.backoff = 0;
            self.board
                .acknowledge(acknowledged, now, &mut self.rack, min_rtt_ns, &mut summary);
        }
        summary
    }

    /// Counts a duplicate that the receiver reports (D-SACK, RFC 2883).
    fn process_dsack(&mut self, segment: &TcpSegment) {
        let Some((_, end)) = segment.sack.iter().next() else {
            return;
        };
        self.counts.dsacks += 1;
        if let Some(undo) = &mut self.undo {
            undo.count_duplicate(end, self.next);
        }
    }

    /// Takes a round-trip time sample, if there is one; `true` when the timer is to be restarted.
    fn sample_rtt(
        &mut self,
        now: SimTime,
        segment: &TcpSegment,
        summary: &AckSummary,
        advances: bool,
    ) -> bool {
        let elapsed = |(first, last): (SimTime, SimTime)| (now.ns_since(first), now.ns_since(last));
        let sacked = summary.sacked_sent_at.map(elapsed);
        let acked = summary
            .acked_sent_at
            .filter(|_| !summary.acked_retransmission)
            .map(elapsed);
        // The oldest and the latest segment that the acknowledgement covers.
        let oldest = acked.or(sacked).map(|(first, _)| first);
        let latest = sacked.or(acked).map(|(_, last)| last);
        let by_timestamp = || {
            let echo = segment.timestamp_echo.filter(|_| advances);
            echo.map(|echo| now.ns_since(echo))
        };
        let (oldest, latest) = match (oldest, latest) {
            (None, _) => (by_timestamp(), by_timestamp()),
            known => known,
        };
        if let (Some(oldest), Some(latest)) = (oldest, latest) {
            self.rtt.update_min(latest);
            self.rtt.sample(oldest, self.una, self.next);
            self.rtt_statistics.record(latest);
            if advances {
                let delay = DelaySample {
                    now,
                    rtt_ns: latest,
                    acknowledged: self.una,
                    next: self.next,
                };
                self.controller.on_delay(&mut self.window, &delay);
            }
        }
        // Segments sent before the first unacknowledged one was last sent do not postpone the timer.
        let is_older_than_head = |(first, _): (u64, u64)| {
            let head = self.board.head_sent_at();
            head.is_some_and(|head| first > now.ns_since(head))
        };
        advances || sacked.is_some_and(is_older_than_head)
    }

    /// Ends the episode of a tail loss probe (RFC 8985 section 7.4; `tcp_process_tlp_ack()` in Linux).
    fn process_probe_ack(&mut self, segment: &TcpSegment, summary: &AckSummary, advances: bool) {
        let Some(probe) = self.probe else {
            return;
        };
        if segment.acknowledgment < probe.end {
            return;
        }
        let was_spurious = !probe.is_retransmission || segment.sack.first_is_dsack();
        if was_spurious {
            self.probe = None;
        } else if segment.acknowledgment > probe.end {
            // The probe repaired the loss of the last segment, which reduces the window.
            self.start_reduction();
            self.state = CongestionState::Cwr;
            self.end_reduction();
            self.try_keep_open();
        } else if !advances && summary.delivered == 0 {
            self.probe = None;
        }
    }

    /// Reduces the window after an acknowledgement.
    pub(super) fn reduce_window(&mut self, ack: ReductionAck) {
        let in_flight = self.board.in_flight();
        let ssthresh = self.window.ssthresh;
        if let Some(cwnd) = self.reduction.on_ack(ack, in_flight, ssthresh) {
            self.window.cwnd = cwnd;
        }
    }
}
