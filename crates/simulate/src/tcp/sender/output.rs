//! Output: retransmissions, new data, bursts.

use caudal_link::time::SimTime;

use super::super::rtt::RTO_INITIAL_NS;
use super::super::segment::SegmentRange;
use super::super::window::INITIAL_CWND;
use super::state::{Sender, Timer};
use super::timers::ProbeLimit;

/// Maximum number of bytes handed to the device at once (`GSO_LEGACY_MAX_SIZE` less the headers).
const MAX_BURST_BYTES: u64 = 65_216;
/// Share of the window in new data that is sent at once (`net.ipv4.tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// Maximum time since the last transmission for which new data is deferred.
const MAX_DEFER_NS: u64 = 1_000_000;

impl Sender {
    /// Sends what the windows allow: first retransmissions, then new data.
    pub(in crate::tcp) fn transmit(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) {
        self.retransmit_lost(now, out);
        self.restart_after_idle(now);
        let outstanding = self.board.len();
        let mut sent = 0;
        let mut is_deferred = false;
        'bursts: while self.board.in_flight() < self.window.cwnd {
            let burst = self.burst_segments();
            is_deferred = self.defers(now, burst);
            if is_deferred {
                break;
            }
            for _ in 0..burst {
                if self.board.in_flight() >= self.window.cwnd || !self.send_new(now, out) {
                    break 'bursts;
                }
                sent += 1;
            }
        }
        if sent == 0 {
            if is_deferred {
                self.update_usage(true);
            }
            return;
        }
        if self.is_reducing() {
            self.reduction.count_sent(sent);
        }
        if outstanding == 0 || matches!(self.timer, Some((_, Timer::Probe))) {
            self.restart_timeout(now);
        }
        self.schedule_probe(now, ProbeLimit::RemainingTimeout);
        self.update_usage(is_deferred);
    }

    fn retransmit_lost(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) {
        while self.board.in_flight() < self.window.cwnd
            && let Some(number) = self.board.next_to_retransmit()
        {
            let is_head = number == self.board.first();
            self.retransmit(now, number, out);
            if self.is_reducing() {
                self.reduction.count_sent(1);
            }
            if is_head && !matches!(self.timer, Some((_, Timer::Reordering))) {
                self.start_timeout(now);
            }
        }
    }

    /// The number of segments sent in one burst: about a millisecond's worth, more at short round-trip times.
    ///
    /// Source: `tcp_tso_autosize()` and `tcp_update_pacing_rate()` in Linux net/ipv4.
    fn burst_segments(&self) -> u64 {
        let mss = u64::from(self.mss);
        let smoothed = self.rtt.smoothed_ns().unwrap_or(RTO_INITIAL_NS).max(1);
        let percent = if self.window.cwnd < self.window.ssthresh / 2 {
            200
        } else {
            120
        };
        let window = u128::from(self.window.cwnd.max(self.board.len())) * u128::from(mss);
        let rate = window * 1_000_000_000 * percent / 100 / u128::from(smoothed);
        let per_millisecond = u64::try_from(rate >> 10).unwrap_or(u64::MAX);
        let halvings = self.rtt.min_ns().unwrap_or(u64::MAX) / 512_000;
        let extra = if halvings < 32 {
            MAX_BURST_BYTES >> halvings
        } else {
            0
        };
        (per_millisecond.saturating_add(extra).min(MAX_BURST_BYTES) / mss).max(2)
    }

    /// Decides whether new data waits for more room, to be sent in larger bursts (`tcp_tso_should_defer()` in Linux).
    fn defers(&self, now: SimTime, burst: u64) -> bool {
        if self.is_repairing() || now.ns_since(self.last_sent) > MAX_DEFER_NS {
            return false;
        }
        let mss = u64::from(self.mss);
        let allowed = (self.window.cwnd - self.board.in_flight()) * mss;
        let room = allowed.min(self.window_end.saturating_sub(self.next));
        // The rest of a block is not deferred.
        let unsent = self.written - self.next;
        let in_block = self.rest_of_block();
        if unsent <= mss || room >= burst * mss || (unsent > in_block && room >= in_block) {
            return false;
        }
        let window = self.peer_window.min(self.window.cwnd * mss);
        if room >= window / WINDOW_DIVISOR {
            return false;
        }
        // When the next acknowledgement is far away, deferring would leave the path idle.
        let half = self.rtt.smoothed_ns().unwrap_or(0) / 2;
        let head = self.board.head_sent_at();
        head.is_some_and(|head| now.ns_since(head) >= half)
    }

    /// The bytes in a block of the application's data: the largest burst, and at most half of the largest window that the
    /// receiver has offered (`tcp_bound_to_half_wnd()` in Linux).
    fn block_bytes(&self) -> u64 {
        let mss = u64::from(self.mss);
        (MAX_BURST_BYTES.min(self.max_peer_window / 2) / mss).max(1) * mss
    }

    fn rest_of_block(&self) -> u64 {
        let block = self.block_bytes();
        block - self.next % block
    }

    /// Decides whether a segment that ends at `end` has PSH set: the application has no more data, or waits for room in
    /// the send buffer, or this is the end of a block and more than half a window was written since the last PSH
    /// (`forced_push()` in Linux net/ipv4/tcp.c).
    pub(in crate::tcp) fn pushes(&self, end: u64) -> bool {
        let buffer_end = self.una.saturating_add(self.send_buffer);
        if end >= self.written || end.saturating_add(u64::from(self.mss)) > buffer_end {
            return true;
        }
        let block = self.block_bytes();
        let blocks = self.max_peer_window / 2 / block + 1;
        end.is_multiple_of(block * blocks)
    }

    /// Reduces the window after an idle time (RFC 5681 section 4.1; `tcp_cwnd_restart()`).
    fn restart_after_idle(&mut self, now: SimTime) {
        if self.board.len() > 0 || self.written == self.next {
            return;
        }
        if self.next > 0 {
            self.controller.on_idle(now.ns_since(self.last_sent), now);
        }
        let Some((mut idle, timeout)) = self.idle_beyond_timeout(now).filter(|_| self.next > 0)
        else {
            return;
        };
        let three_quarters = self.window.cwnd * 3 / 4;
        self.window.ssthresh = self.window.ssthresh.max(three_quarters);
        let restart_cwnd = self.window.cwnd.min(INITIAL_CWND);
        while idle > timeout && self.window.cwnd > restart_cwnd {
            self.window.cwnd /= 2;
            idle -= timeout;
        }
        self.window.cwnd = self.window.cwnd.max(restart_cwnd);
    }

    fn update_usage(&mut self, is_deferred: bool) {
        let outstanding = self.board.len();
        let is_used_up = is_deferred || self.board.in_flight() >= self.window.cwnd;
        self.usage
            .update(is_used_up, outstanding, self.una, self.next);
    }

    /// Retransmits segment `number`.
    pub(super) fn retransmit(&mut self, now: SimTime, number: u64, out: &mut Vec<SegmentRange>) {
        if let Some(range) = self.board.retransmit(now, number) {
            self.counts.segments += 1;
            self.counts.retransmits += 1;
            self.first_retransmission.get_or_insert(now);
            if let Some(undo) = &mut self.undo {
                undo.count_retransmission();
            }
            self.last_sent = now;
            out.push(range);
        }
    }

    /// Sends one new segment; `false` when there is none or a window has no room.
    pub(super) fn send_new(&mut self, now: SimTime, out: &mut Vec<SegmentRange>) -> bool {
        let unsent = self.written - self.next;
        let end = self
            .window_end
            .min(self.una.saturating_add(self.send_buffer));
        let room = end.saturating_sub(self.next);
        let mss = u64::from(self.mss);
        let mut length = unsent.min(mss);
        if room < length {
            // Less than a full segment is sent only when nothing else would move the window (RFC 9293 section 3.8.6.2.1).
            if self.board.len() > 0 {
                return false;
            }
            length = room;
        }
        if length == 0 {
            return false;
        }
        // At most the segment size, which is a u32.
        let length = length as u32;
        let sequence = self.next;
        self.board.push(now, sequence, length);
        out.push(SegmentRange { sequence, length });
        self.next += u64::from(length);
        self.counts.segments += 1;
        self.last_sent = now;
        true
    }
}
