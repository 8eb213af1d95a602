//! The sending half of a connection: what may leave when, and what is lost.

use caudal_link::moment::Moment;
use caudal_link::occupancy::Occupancy;

use super::Congestion;
use super::controller::Controller;
use super::cubic::DelaySample;
use super::rtt::{RTO_INITIAL_NS, RTO_MAX_NS, RttEstimator};
use super::scoreboard::{News, Rack, Scoreboard};
use super::segment::Segment;
use super::window::{INITIAL_CWND, Window};
use crate::outcome::{RttSummary, TcpCounts};
use crate::span::{after, ns_between};

/// What timers leave for scheduling: 2 ms (`TCP_TIMEOUT_MIN_US` in Linux include/net/tcp.h) and half a tick of 4 ms.
const PROBE_SLACK_NS: u64 = 4_000_000;
/// What it leaves for a delayed acknowledgement when one segment is out (RFC 8985 section 7.2, with Linux's 200 ms).
const PROBE_ALONE_NS: u64 = super::rtt::RTO_MIN_NS;
/// Segments held out of order from which no reordering is expected any more (RFC 8985 section 6.2, step 4).
const DUPLICATE_THRESHOLD: u64 = 3;
/// The most bytes handed to the device at once (`GSO_LEGACY_MAX_SIZE` less the headers).
const OFFLOAD: u64 = 65_216;
/// The share of the window from which on there is room enough (`net.ipv4.tcp_tso_win_divisor`).
const WINDOW_SHARE: u64 = 3;
/// New data waits for more room only when the last left no longer ago.
const GATHER_NS: u64 = 1_000_000;
/// Doublings of the timeout that are told apart.
const MOST_BACKOFF: u32 = 16;

/// The congestion states of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is amiss.
    Open,
    /// Something arrived out of order.
    Disorder,
    /// The window is being reduced without a loss to repair.
    Reducing,
    /// Losses are being repaired.
    Recovery,
    /// After a timeout.
    Loss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timer {
    Retransmission,
    Probe,
    Reordering,
}

/// Where proportional rate reduction stands (RFC 6937).
#[derive(Debug, Clone, Copy, Default)]
struct Reduction {
    prior_cwnd: u64,
    delivered: u64,
    sent: u64,
}

/// A tail loss probe that is out (RFC 8985 section 7).
#[derive(Debug, Clone, Copy)]
struct Probe {
    high: u64,
    repeated: bool,
}

/// What to take back if a reduction was for nothing.
#[derive(Debug, Clone, Copy)]
struct Undo {
    /// The first unacknowledged byte at the reduction.
    from: u64,
    /// Repetitions that the receiver did not report as superfluous; `None` before the first.
    outstanding: Option<u64>,
    cwnd: u64,
    ssthresh: u64,
}

/// The sending half.
#[derive(Debug)]
pub(super) struct Sender {
    mss: u32,
    /// The first byte not acknowledged.
    una: u64,
    /// The first byte not sent.
    next: u64,
    /// The end of what the application wrote.
    written: u64,
    /// What may be unacknowledged at once.
    buffer: u64,
    /// The end of the window the receiver gave.
    peer_end: u64,
    /// That window, and the largest there was.
    peer_window: u64,
    most_window: u64,
    window: Window,
    controller: Controller,
    state: State,
    /// What was sent when the state began.
    high: u64,
    reduction: Reduction,
    undo: Option<Undo>,
    /// When the first repetition of this episode left.
    repeated_at: Option<Moment>,
    board: Scoreboard,
    rack: Rack,
    rtt: RttEstimator,
    timer: Option<(Moment, Timer)>,
    backoff: u32,
    probe: Option<Probe>,
    /// Whether the congestion window is what limits, and the figures that tell.
    cwnd_limits: bool,
    most_out: u64,
    usage_round: u64,
    last_sent: Moment,
    counts: TcpCounts,
    rtt_summary: RttSummary,
    cwnd_over_time: Occupancy,
}

/// What leaves: the first byte and the length.
pub(super) type Pieces = Vec<(u64, u32)>;

impl Sender {
    pub(super) fn new(mss: u32, buffer: u64, congestion: Congestion) -> Self {
        Self {
            mss: mss.max(1),
            una: 0,
            next: 0,
            written: 0,
            buffer,
            peer_end: 0,
            peer_window: 0,
            most_window: 0,
            window: Window::new(INITIAL_CWND),
            controller: Controller::new(congestion),
            state: State::Open,
            high: 0,
            reduction: Reduction::default(),
            undo: None,
            repeated_at: None,
            board: Scoreboard::default(),
            rack: Rack::default(),
            rtt: RttEstimator::default(),
            timer: None,
            backoff: 0,
            probe: None,
            cwnd_limits: false,
            most_out: 0,
            usage_round: 0,
            last_sent: Moment::START,
            counts: TcpCounts::default(),
            rtt_summary: RttSummary::default(),
            cwnd_over_time: Occupancy::default(),
        }
    }

    /// The connection is established: the other side has room for `window` bytes.
    pub(super) fn establish(&mut self, now: Moment, window: u64, handshake_ns: Option<u64>) {
        self.peer_end = window;
        (self.peer_window, self.most_window) = (window, window);
        if let Some(ns) = handshake_ns {
            self.rtt.sample(ns, 0, 0);
            self.rtt.note_least(ns);
        } else {
            // A repeated SYN leaves one segment (RFC 6298 section 5.7 and RFC 5681 section 3.1).
            self.window.cwnd = 1;
        }
        self.last_sent = now;
        self.note_cwnd(now);
    }

    /// The application writes `bytes` more.
    pub(super) fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// The application writes no more than what was sent.
    pub(super) fn stop(&mut self) {
        self.written = self.next;
    }

    /// The first byte not acknowledged.
    pub(super) const fn acknowledged(&self) -> u64 {
        self.una
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn counts(&self) -> &TcpCounts {
        &self.counts
    }

    pub(super) const fn rtt_summary(&self) -> &RttSummary {
        &self.rtt_summary
    }

    /// The window in segments over time, up to `end`.
    pub(super) fn cwnd_over_time(&self, end: Moment) -> Occupancy {
        let mut course = self.cwnd_over_time.clone();
        course.change(end, self.window.cwnd);
        course
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.timer.map(|(at, _)| at)
    }

    fn note_cwnd(&mut self, now: Moment) {
        if self.cwnd_over_time.level() != self.window.cwnd {
            self.cwnd_over_time.change(now, self.window.cwnd);
        }
    }

    const fn reduces(&self) -> bool {
        matches!(self.state, State::Reducing | State::Recovery)
    }

    /// Takes an acknowledgement and gives what it lets leave.
    ///
    /// Follows `tcp_ack()` in Linux net/ipv4/tcp_input.c.
    pub(super) fn acknowledge(&mut self, now: Moment, segment: &Segment, out: &mut Pieces) {
        let acknowledged = segment.acknowledged;
        if acknowledged > self.next {
            return;
        }
        let (una_before, losses_before) = (self.una, self.board.losses);
        let end = acknowledged.saturating_add(segment.window);
        self.peer_end = self.peer_end.max(end);
        self.peer_window = segment.window;
        self.most_window = self.most_window.max(segment.window);
        let mut news = News::default();
        let least = self.rtt.least_ns();
        if segment.blocks.first_repeats() {
            self.note_superfluous(segment);
        }
        if segment.blocks.count() > 0 {
            let blocks = &segment.blocks;
            self.board
                .select(blocks, now, &mut self.rack, least, &mut news);
        }
        if acknowledged > self.una {
            self.una = acknowledged;
            self.backoff = 0;
            self.board
                .release(acknowledged, now, &mut self.rack, least, &mut news);
        }
        let advanced = self.una > una_before;
        self.counts.delivered += news.delivered;
        let rearm = self.sample_rtt(now, segment, &news, advanced);
        self.judge_probe(segment, &news, advanced);
        let dubious = news.selected > 0
            || segment.blocks.first_repeats()
            || self.state != State::Open
            || self.board.lost() > 0;
        let waits = dubious && self.alert(now, segment, advanced);
        if rearm && !waits {
            self.arm(now);
        }
        let lost = self.board.losses - losses_before;
        if self.reduces() {
            self.reduce(news.delivered, lost, advanced);
        } else if news.delivered > 0 && (advanced || self.rack.reordering) && self.limited_by_cwnd()
        {
            self.controller.grow(&mut self.window, news.delivered, now);
        }
        self.transmit(now, out);
        self.note_cwnd(now);
    }

    /// Reckons with a round trip; gives whether the timer starts anew.
    fn sample_rtt(&mut self, now: Moment, segment: &Segment, news: &News, advanced: bool) -> bool {
        let mut sample = None;
        let mut latest = None;
        if let Some((first, last)) = news.fresh
            && !news.repeated
        {
            sample = Some(ns_between(first, now));
            latest = Some(ns_between(last, now));
        }
        let selected = news
            .fresh_selected
            .map(|(first, last)| (ns_between(first, now), ns_between(last, now)));
        if let Some((first, last)) = selected {
            sample = sample.or(Some(first));
            latest = Some(last);
        }
        if sample.is_none() && advanced {
            sample = segment.echoed.map(|echoed| ns_between(echoed, now));
            latest = sample;
        }
        if let (Some(sample), Some(latest)) = (sample, latest) {
            self.rtt.note_least(latest);
            self.rtt.sample(sample, self.una, self.next);
            self.rtt_summary.record(latest);
            if advanced {
                let delay = DelaySample {
                    now,
                    rtt_ns: latest,
                    acknowledged: self.una,
                    next: self.next,
                };
                self.controller.note_delay(&mut self.window, &delay);
            }
        }
        // The timer is not put off by what was sent before its segment last was.
        let later = |(first, _): (u64, u64)| {
            self.board
                .head_sent()
                .is_some_and(|head| first > ns_between(head, now))
        };
        advanced || selected.is_some_and(later)
    }

    /// The receiver had a segment twice (RFC 2883): one repetition was for nothing.
    fn note_superfluous(&mut self, segment: &Segment) {
        let Some((_, end)) = segment.blocks.iter().next() else {
            return;
        };
        self.counts.superfluous += 1;
        if let Some(undo) = &mut self.undo
            && end > undo.from
            && end <= self.next
        {
            undo.outstanding = undo.outstanding.map(|left| left.saturating_sub(1));
        }
    }

    /// What became of a probe (RFC 8985 section 7.4; `tcp_process_tlp_ack()` in Linux).
    fn judge_probe(&mut self, segment: &Segment, news: &News, advanced: bool) {
        let Some(probe) = self.probe else {
            return;
        };
        if segment.acknowledged < probe.high {
            return;
        }
        let harmless = !probe.repeated || segment.blocks.first_repeats();
        if harmless {
            self.probe = None;
        } else if segment.acknowledged > probe.high {
            // The probe repaired the loss of the last segment: the window pays for it.
            self.begin_reduction();
            self.state = State::Reducing;
            self.end_reduction();
            self.keep_open();
        } else if !advanced && news.delivered == 0 {
            self.probe = None;
        }
    }

    /// The state machine of `tcp_fastretrans_alert()`; gives whether the timer now waits for what may be reordered.
    fn alert(&mut self, now: Moment, segment: &Segment, advanced: bool) -> bool {
        if self.state == State::Open {
            self.repeated_at = None;
        } else if self.una >= self.high {
            match self.state {
                State::Reducing if self.una != self.high => {
                    self.end_reduction();
                    self.state = State::Open;
                }
                State::Recovery => {
                    if self.is_for_nothing(segment) {
                        self.restore();
                    } else {
                        self.end_reduction();
                    }
                    self.state = State::Open;
                    self.undo = None;
                }
                _ => {}
            }
        }
        match self.state {
            State::Recovery => {
                if advanced {
                    self.undo_partly(segment);
                }
                if self.state == State::Recovery {
                    return self.find_losses(now);
                }
            }
            State::Loss => {
                if advanced && self.is_for_nothing(segment) {
                    self.board.forgive();
                    self.restore();
                    self.state = State::Open;
                } else if self.una >= self.high {
                    self.state = State::Open;
                    self.undo = None;
                } else {
                    return self.find_losses(now);
                }
            }
            _ => {}
        }
        if matches!(self.state, State::Open | State::Disorder) && self.all_superfluous() {
            self.restore();
        }
        let waits = self.find_losses(now);
        if self.board.lost() > 0 {
            self.enter_recovery();
        } else if self.state != State::Reducing {
            self.keep_open();
        }
        waits
    }

    fn keep_open(&mut self) {
        let amiss = self.board.selected() + self.board.lost() > 0 || self.board.repeats();
        let state = if amiss { State::Disorder } else { State::Open };
        if self.state != state {
            self.state = state;
            self.high = self.next;
        }
    }

    fn enter_recovery(&mut self) {
        self.counts.recoveries += 1;
        let (cwnd, ssthresh) = (self.window.cwnd, self.window.ssthresh);
        let reducing = self.state == State::Reducing;
        self.undo = Some(Undo {
            from: self.una,
            outstanding: None,
            cwnd,
            ssthresh,
        });
        if !reducing {
            self.begin_reduction();
        }
        self.state = State::Recovery;
    }

    fn begin_reduction(&mut self) {
        self.high = self.next;
        self.probe = None;
        self.window.forget_credit();
        self.reduction = Reduction {
            prior_cwnd: self.window.cwnd,
            ..Reduction::default()
        };
        self.window.ssthresh = self.controller.threshold(&self.window);
    }

    fn end_reduction(&mut self) {
        if self.window.ssthresh < u64::MAX {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Proportional rate reduction with the slow-start bound (RFC 6937; `tcp_cwnd_reduction()` in Linux).
    fn reduce(&mut self, delivered: u64, lost: u64, advanced: bool) {
        if delivered == 0 || self.reduction.prior_cwnd == 0 {
            return;
        }
        let reduction = &mut self.reduction;
        reduction.delivered += delivered;
        let in_flight = self.board.in_flight();
        let ssthresh = self.window.ssthresh;
        let mut send = if in_flight > ssthresh {
            let fair = (ssthresh * reduction.delivered).div_ceil(reduction.prior_cwnd);
            fair.saturating_sub(reduction.sent)
        } else {
            let room = reduction.delivered.saturating_sub(reduction.sent);
            let mut send = room.max(delivered);
            send += u64::from(advanced && lost == 0);
            send.min(ssthresh - in_flight)
        };
        if reduction.sent == 0 {
            send = send.max(1);
        }
        self.window.cwnd = in_flight + send;
    }

    /// Whether every repetition turned out to be superfluous.
    fn all_superfluous(&self) -> bool {
        self.undo.is_some_and(|undo| undo.outstanding == Some(0))
    }

    /// Whether what was repeated arrived, late, by its first copy (Eifel, RFC 3522) or was reported superfluous.
    fn is_for_nothing(&self, segment: &Segment) -> bool {
        let late = matches!(
            (self.repeated_at, segment.echoed),
            (Some(repeated), Some(echoed)) if echoed < repeated
        );
        self.undo.is_some() && (late || self.all_superfluous())
    }

    fn restore(&mut self) {
        if let Some(undo) = self.undo.take() {
            self.counts.undone += 1;
            self.window.cwnd = self.window.cwnd.max(undo.cwnd);
            self.window.ssthresh = self.window.ssthresh.max(undo.ssthresh);
        }
    }

    /// A partial acknowledgement of first copies: the rest is on its way too.
    fn undo_partly(&mut self, segment: &Segment) {
        if self.is_for_nothing(segment) && !self.board.repeats() {
            self.board.forgive();
            self.restore();
            self.state = State::Open;
        }
    }

    /// How long arrival out of order is tolerated (RFC 8985 section 6.2, step 4; `tcp_rack_reo_wnd()` in Linux).
    fn reordering_window_ns(&self) -> u64 {
        let repairing = matches!(self.state, State::Recovery | State::Loss);
        let many = self.board.selected() >= DUPLICATE_THRESHOLD;
        if !self.rack.reordering && (repairing || many) {
            return 0;
        }
        let least = self.rtt.least_ns().unwrap_or(0) / 4;
        least.min(self.rtt.smoothed_ns().unwrap_or(0))
    }

    /// Marks what is lost by now; gives whether the timer now waits for what may be reordered.
    fn find_losses(&mut self, now: Moment) -> bool {
        let window_ns = self.reordering_window_ns();
        let Some(wait) = self.board.detect(&self.rack, window_ns, now) else {
            return false;
        };
        let at = after(now, wait.saturating_add(PROBE_SLACK_NS));
        self.timer = Some((at, Timer::Reordering));
        true
    }

    fn timeout_ns(&self) -> u64 {
        let base = self.rtt.timeout_ns();
        base.saturating_mul(1 << self.backoff.min(MOST_BACKOFF))
            .min(RTO_MAX_NS)
    }

    /// Starts the timer for what is out: a probe when one may help, the timeout otherwise (`tcp_set_xmit_timer()`).
    fn arm(&mut self, now: Moment) {
        if self.board.len() == 0 {
            self.timer = None;
        } else if !self.arm_probe(now, true) {
            self.arm_timeout(now);
        }
    }

    /// How long until the timeout of the first segment, which a probe or a wait for reordering does not put off.
    fn left_ns(&self, now: Moment) -> u64 {
        let head = self.board.head_sent().unwrap_or(now);
        ns_between(now, after(head, self.timeout_ns())).max(1)
    }

    /// The timeout, from now on or as far as it is (`tcp_rearm_rto()`).
    fn arm_timeout(&mut self, now: Moment) {
        let wait = match self.timer {
            Some((_, Timer::Probe | Timer::Reordering)) => self.left_ns(now),
            _ => self.timeout_ns(),
        };
        self.timer = Some((after(now, wait), Timer::Retransmission));
    }

    /// Starts the timer of a tail loss probe where it has its place (RFC 8985 section 7.2; `tcp_schedule_loss_probe()`).
    fn arm_probe(&mut self, now: Moment, forward: bool) -> bool {
        if !matches!(self.state, State::Open | State::Reducing) || self.board.selected() > 0 {
            return false;
        }
        let Some(smoothed) = self.rtt.smoothed_ns() else {
            return false;
        };
        let slack = if self.board.len() == 1 {
            PROBE_ALONE_NS
        } else {
            PROBE_SLACK_NS
        };
        let timeout = if forward {
            self.timeout_ns()
        } else {
            self.left_ns(now)
        };
        let wait = (2 * smoothed + slack).min(timeout);
        self.timer = Some((after(now, wait), Timer::Probe));
        true
    }

    /// The timer's moment has come.
    pub(super) fn wake(&mut self, now: Moment, out: &mut Pieces) {
        let Some((_, timer)) = self.timer.take_if(|(at, _)| *at <= now) else {
            return;
        };
        if self.board.len() == 0 {
            return;
        }
        match timer {
            Timer::Retransmission => self.time_out(now, out),
            Timer::Probe => self.send_probe(now, out),
            Timer::Reordering => self.give_up_waiting(now, out),
        }
        self.note_cwnd(now);
    }

    /// What may be reordered is lost (`tcp_rack_reo_timeout()`).
    fn give_up_waiting(&mut self, now: Moment, out: &mut Pieces) {
        let losses_before = self.board.losses;
        self.find_losses(now);
        if self.board.losses > losses_before {
            if !matches!(self.state, State::Recovery | State::Loss) {
                self.enter_recovery();
            }
            if self.state == State::Recovery {
                self.reduce(1, self.board.losses - losses_before, false);
            }
            self.transmit(now, out);
        }
        if self.timer.is_none() {
            self.timer = Some((after(now, self.left_ns(now)), Timer::Retransmission));
        }
    }

    /// Sends new data, or the last segment again, so that a lost tail is noticed before the timeout (RFC 8985 section 7.3).
    fn send_probe(&mut self, now: Moment, out: &mut Pieces) {
        if self.probe.is_none() {
            let repeated = !self.send_new(now, out);
            if repeated && let Some(last) = self.board.last() {
                self.repeat(now, last, out);
            }
            self.counts.probes += 1;
            self.probe = Some(Probe {
                high: self.next,
                repeated,
            });
        }
        self.timer = Some((after(now, self.timeout_ns()), Timer::Retransmission));
    }

    /// Nothing was heard for too long (RFC 6298 section 5; `tcp_enter_loss()`).
    fn time_out(&mut self, now: Moment, out: &mut Pieces) {
        self.counts.timeouts += 1;
        let first = match self.state {
            State::Open | State::Disorder => true,
            State::Loss if self.backoff == 0 => true,
            _ => self.high <= self.una,
        };
        if first {
            self.undo = Some(Undo {
                from: self.una,
                outstanding: None,
                cwnd: self.window.cwnd,
                ssthresh: self.window.ssthresh,
            });
            self.window.ssthresh = self.controller.threshold(&self.window);
        }
        self.controller.collapse(now, self.next);
        self.board.time_out(&self.rack, now);
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.forget_credit();
        self.state = State::Loss;
        self.high = self.next;
        self.probe = None;
        if let Some(number) = self.board.next_to_repeat() {
            self.repeat(now, number, out);
        }
        self.backoff += 1;
        self.timer = Some((after(now, self.timeout_ns()), Timer::Retransmission));
    }

    /// Whether the window was what limited (`tcp_is_cwnd_limited()`).
    fn limited_by_cwnd(&self) -> bool {
        self.cwnd_limits || (self.window.in_slow_start() && self.window.cwnd < 2 * self.most_out)
    }

    /// Sends what may be sent: first what is lost, then what is new.
    pub(super) fn transmit(&mut self, now: Moment, out: &mut Pieces) {
        while self.board.in_flight() < self.window.cwnd
            && let Some(number) = self.board.next_to_repeat()
        {
            let head = number == self.board.first();
            self.repeat(now, number, out);
            if self.reduces() {
                self.reduction.sent += 1;
            }
            if head && !matches!(self.timer, Some((_, Timer::Reordering))) {
                self.timer = Some((after(now, self.timeout_ns()), Timer::Retransmission));
            }
        }
        self.resume(now);
        let before = self.board.len();
        let mut sent = 0;
        let mut waits = false;
        'bursts: while self.board.in_flight() < self.window.cwnd {
            let burst = self.burst();
            waits = self.gathers(now, burst);
            if waits {
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
            if waits {
                self.note_usage(true);
            }
            return;
        }
        if self.reduces() {
            self.reduction.sent += sent;
        }
        if before == 0 || matches!(self.timer, Some((_, Timer::Probe))) {
            self.arm_timeout(now);
        }
        self.arm_probe(now, false);
        self.note_usage(waits);
    }

    /// Segments that leave together when nothing holds them: about a millisecond's worth, more in short round trips.
    ///
    /// Source: `tcp_tso_autosize()` and `tcp_update_pacing_rate()` in Linux net/ipv4.
    fn burst(&self) -> u64 {
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
        let halvings = self.rtt.least_ns().unwrap_or(u64::MAX) / 512_000;
        let extra = if halvings < 32 {
            OFFLOAD >> halvings
        } else {
            0
        };
        (per_millisecond.saturating_add(extra).min(OFFLOAD) / mss).max(2)
    }

    /// Whether new data waits for more room, so that it leaves in larger bursts (`tcp_tso_should_defer()` in Linux).
    fn gathers(&self, now: Moment, burst: u64) -> bool {
        if matches!(self.state, State::Recovery | State::Loss)
            || ns_between(self.last_sent, now) > GATHER_NS
        {
            return false;
        }
        let mss = u64::from(self.mss);
        let allowed = (self.window.cwnd - self.board.in_flight()) * mss;
        let room = allowed.min(self.peer_end.saturating_sub(self.next));
        // The rest of a block is not waited with.
        let left = self.written - self.next;
        let in_block = self.left_in_block();
        if left <= mss || room >= burst * mss || (left > in_block && room >= in_block) {
            return false;
        }
        let window = self.peer_window.min(self.window.cwnd * mss);
        if room >= window / WINDOW_SHARE {
            return false;
        }
        // When the next acknowledgement is far, waiting for it is idle.
        let half = self.rtt.smoothed_ns().unwrap_or(0) / 2;
        let head = self.board.head_sent();
        head.is_some_and(|head| ns_between(head, now) >= half)
    }

    /// Bytes of a block of the application's data: as much as the device takes, and at most half of the largest window the
    /// receiver gave (`tcp_bound_to_half_wnd()` in Linux).
    fn block(&self) -> u64 {
        let mss = u64::from(self.mss);
        (OFFLOAD.min(self.most_window / 2) / mss).max(1) * mss
    }

    fn left_in_block(&self) -> u64 {
        let block = self.block();
        block - self.next % block
    }

    /// Whether a segment that ends at `end` says so: the application waits for room in the buffer or has no more, or it is
    /// the end of a block and over half a window was written since the last that said so (`forced_push()` in Linux
    /// net/ipv4/tcp.c).
    pub(super) fn pushes(&self, end: u64) -> bool {
        let full = self.una.saturating_add(self.buffer);
        if end >= self.written || end.saturating_add(u64::from(self.mss)) > full {
            return true;
        }
        let block = self.block();
        let blocks = self.most_window / 2 / block + 1;
        end.is_multiple_of(block * blocks)
    }

    /// After a pause the window is what a path may be trusted with (RFC 5681 section 4.1; `tcp_cwnd_restart()`).
    fn resume(&mut self, now: Moment) {
        if self.board.len() > 0 || self.written == self.next {
            return;
        }
        let (mut idle, timeout) = (ns_between(self.last_sent, now), self.timeout_ns());
        if self.next > 0 {
            self.controller.resume(idle, now);
        }
        if idle <= timeout || self.next == 0 {
            return;
        }
        let kept = self.window.cwnd * 3 / 4;
        self.window.ssthresh = self.window.ssthresh.max(kept);
        let least = self.window.cwnd.min(INITIAL_CWND);
        while idle > timeout && self.window.cwnd > least {
            self.window.cwnd /= 2;
            idle -= timeout;
        }
        self.window.cwnd = self.window.cwnd.max(least);
    }

    /// Remembers whether the window was used up in this round trip (`tcp_cwnd_validate()`; RFC 7661).
    fn note_usage(&mut self, waits: bool) {
        let out = self.board.len();
        let limits = waits || self.board.in_flight() >= self.window.cwnd;
        if self.una >= self.usage_round || limits || (!self.cwnd_limits && out > self.most_out) {
            self.cwnd_limits = limits;
            self.most_out = out;
            self.usage_round = self.next;
        }
    }

    fn repeat(&mut self, now: Moment, number: u64, out: &mut Pieces) {
        if let Some(piece) = self.board.repeat(now, number) {
            self.counts.segments += 1;
            self.counts.retransmits += 1;
            self.repeated_at.get_or_insert(now);
            if let Some(undo) = &mut self.undo {
                undo.outstanding = Some(undo.outstanding.unwrap_or(0) + 1);
            }
            self.last_sent = now;
            out.push(piece);
        }
    }

    /// Sends one new segment if there is one and both windows have room.
    fn send_new(&mut self, now: Moment, out: &mut Pieces) -> bool {
        let left = self.written - self.next;
        let end = self.peer_end.min(self.una.saturating_add(self.buffer));
        let room = end.saturating_sub(self.next);
        let mss = u64::from(self.mss);
        let mut length = left.min(mss);
        if room < length {
            // Part of a segment leaves only when nothing else would move the window (RFC 9293 section 3.8.6.2.1).
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
        self.board.push(now, self.next, length);
        out.push((self.next, length));
        self.next += u64::from(length);
        self.counts.segments += 1;
        self.last_sent = now;
        true
    }
}
