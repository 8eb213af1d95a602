//! The state of the sender.

use super::super::congestion::Controller;
use super::super::rtt::RttEstimator;
use super::super::scoreboard::{Rack, Scoreboard};
use super::super::settings::CongestionControl;
use super::super::window::{INITIAL_CWND, Window};
use super::prr::RateReduction;
use super::undo::UndoState;
use crate::result::{DelayStatistics, TcpCounts};
use caudal_link::occupancy::{Occupancy, OccupancySummary};
use caudal_link::time::SimTime;

/// The use of the congestion window in the current round trip (`tcp_cwnd_validate()` in Linux).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CwndUsage {
    /// Set when the window was used up.
    is_used_up: bool,
    /// The largest number of unacknowledged segments.
    max_outstanding: u64,
    /// The sequence number at which the round trip ends.
    round_end: u64,
}

impl CwndUsage {
    /// `true` when the window is the limit (`tcp_is_cwnd_limited()` in Linux).
    pub(super) fn is_limiting(&self, window: &Window) -> bool {
        self.is_used_up || (window.in_slow_start() && window.cwnd < 2 * self.max_outstanding)
    }

    /// Updates the use after sending; `una` and `next` are the first unacknowledged and the next sequence number.
    pub(super) fn update(&mut self, is_used_up: bool, outstanding: u64, una: u64, next: u64) {
        if una >= self.round_end
            || is_used_up
            || (!self.is_used_up && outstanding > self.max_outstanding)
        {
            self.is_used_up = is_used_up;
            self.max_outstanding = outstanding;
            self.round_end = next;
        }
    }
}

/// The congestion states of Linux (`enum tcp_ca_state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CongestionState {
    /// Normal operation.
    Open,
    /// Segments have arrived out of order.
    Disorder,
    /// The window is being reduced without losses to repair.
    Cwr,
    /// Losses are being repaired.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// The purpose of the sender's timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// The retransmission timeout.
    Retransmission,
    /// The tail loss probe.
    Probe,
    /// The reordering timer of RACK.
    Reordering,
}

/// A tail loss probe in flight (RFC 8985 section 7).
#[derive(Debug, Clone, Copy)]
pub(super) struct TailLossProbe {
    /// The sequence number that acknowledges it.
    pub(super) end: u64,
    /// Set when it was a retransmission rather than new data.
    pub(super) is_retransmission: bool,
}

/// The sending half of a connection.
#[derive(Debug)]
pub(in crate::tcp) struct Sender {
    pub(super) mss: u32,
    /// The first sequence number not acknowledged.
    pub(super) una: u64,
    /// The first sequence number not sent.
    pub(super) next: u64,
    /// The end of the data written by the application.
    pub(super) written: u64,
    /// The limit of unacknowledged bytes.
    pub(super) send_buffer: u64,
    /// The end of the receiver's window.
    pub(super) window_end: u64,
    /// The receiver's window, and its maximum so far.
    pub(super) peer_window: u64,
    pub(super) max_peer_window: u64,
    pub(super) window: Window,
    pub(super) controller: Controller,
    pub(super) state: CongestionState,
    /// `next` when the state began (`high_seq` in Linux).
    pub(super) high_seq: u64,
    pub(super) reduction: RateReduction,
    pub(super) undo: Option<UndoState>,
    /// The time of the first retransmission of this episode (`retrans_stamp` in Linux).
    pub(super) first_retransmission: Option<SimTime>,
    pub(super) board: Scoreboard,
    pub(super) rack: Rack,
    pub(super) rtt: RttEstimator,
    pub(super) timer: Option<(SimTime, Timer)>,
    /// The number of doublings of the retransmission timeout.
    pub(super) backoff: u32,
    pub(super) probe: Option<TailLossProbe>,
    pub(super) usage: CwndUsage,
    pub(super) last_sent: SimTime,
    pub(super) counts: TcpCounts,
    pub(super) rtt_statistics: DelayStatistics,
    cwnd_over_time: Occupancy,
}

impl Sender {
    pub(in crate::tcp) fn new(mss: u32, send_buffer: u64, congestion: CongestionControl) -> Self {
        Self {
            mss: mss.max(1),
            una: 0,
            next: 0,
            written: 0,
            send_buffer,
            window_end: 0,
            peer_window: 0,
            max_peer_window: 0,
            window: Window::new(INITIAL_CWND),
            controller: Controller::new(congestion),
            state: CongestionState::Open,
            high_seq: 0,
            reduction: RateReduction::default(),
            undo: None,
            first_retransmission: None,
            board: Scoreboard::default(),
            rack: Rack::default(),
            rtt: RttEstimator::default(),
            timer: None,
            backoff: 0,
            probe: None,
            usage: CwndUsage::default(),
            last_sent: SimTime::START,
            counts: TcpCounts::default(),
            rtt_statistics: DelayStatistics::default(),
            cwnd_over_time: Occupancy::default(),
        }
    }

    /// Starts to send: the connection is established, and the other end offers `window` bytes. `handshake_ns` is the
    /// round-trip time of the handshake; `None` when a SYN was retransmitted.
    pub(in crate::tcp) fn establish(
        &mut self,
        now: SimTime,
        window: u64,
        handshake_ns: Option<u64>,
    ) {
        self.window_end = window;
        (self.peer_window, self.max_peer_window) = (window, window);
        if let Some(ns) = handshake_ns {
            self.rtt.sample(ns, 0, 0);
            self.rtt.update_min(ns);
        } else {
            // A retransmitted SYN reduces the window to one segment (RFC 6298 section 5.7 and RFC 5681 section 3.1).
            self.window.cwnd = 1;
        }
        self.last_sent = now;
        self.record_cwnd(now);
    }

    /// The application writes `bytes` more.
    pub(in crate::tcp) fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Discards the data not yet sent.
    pub(in crate::tcp) fn stop(&mut self) {
        self.written = self.next;
    }

    /// The first sequence number not acknowledged.
    pub(in crate::tcp) const fn acknowledged(&self) -> u64 {
        self.una
    }

    /// The first sequence number not sent.
    pub(in crate::tcp) const fn next(&self) -> u64 {
        self.next
    }

    pub(in crate::tcp) const fn counts(&self) -> &TcpCounts {
        &self.counts
    }

    pub(in crate::tcp) const fn rtt(&self) -> &DelayStatistics {
        &self.rtt_statistics
    }

    /// The congestion window in segments over time, until `end`.
    pub(in crate::tcp) fn cwnd_over_time(&self, end: SimTime) -> OccupancySummary {
        let mut until_end = self.cwnd_over_time.clone();
        until_end.set(end, self.window.cwnd);
        until_end.summary(end)
    }

    pub(in crate::tcp) fn deadline(&self) -> Option<SimTime> {
        self.timer.map(|(at, _)| at)
    }

    pub(super) fn record_cwnd(&mut self, now: SimTime) {
        if self.cwnd_over_time.level() != self.window.cwnd {
            self.cwnd_over_time.set(now, self.window.cwnd);
        }
    }

    /// `true` while the window is being reduced.
    pub(super) const fn is_reducing(&self) -> bool {
        matches!(self.state, CongestionState::Cwr | CongestionState::Recovery)
    }

    /// `true` while losses are being repaired.
    pub(super) const fn is_repairing(&self) -> bool {
        matches!(
            self.state,
            CongestionState::Recovery | CongestionState::Loss
        )
    }
}
