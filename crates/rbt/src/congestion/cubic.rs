//! CUBIC, with HyStart++ in the first slow start.
//!
//! Source: RFC 9438 and RFC 9406. Where the RFC leaves room, the effect is that of Linux (net/ipv4/tcp_cubic.c), with which it is
//! compared.

use super::controller::{AckedPackets, CongestionController, LostPackets, SentPackets};
use super::cubic_curve::CubicEpoch;
use super::recovery::RecoveryPeriod;
use super::slow_start::SlowStartGrowth;
use super::window::{WindowLimits, window_rate};

/// A reaction to congestion leaves 0.7 of the window (RFC 9438 section 4.6).
const BETA: (u64, u64) = (7, 10);
/// Fast convergence leaves (1 + β) / 2 = 0.85 of the window as the next plateau (RFC 9438 section 4.7).
const FAST_CONVERGENCE: (u64, u64) = (17, 20);
/// Without a plateau from an earlier loss the window grows by at least a twentieth each round trip (Linux, `bictcp_update`).
const UNKNOWN_PLATEAU_DIVISOR: u64 = 20;
/// The pacing rate in percent of a window each round trip (Linux, `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`).
const SLOW_START_PACING_PERCENT: u64 = 200;
const AVOIDANCE_PACING_PERCENT: u64 = 120;

/// What growth depends on: what a reaction to congestion changes, and its undoing restores.
#[derive(Debug, Clone)]
struct CubicState {
    window: u64,
    slow_start: SlowStartGrowth,
    /// The window at the latest reaction, lowered by fast convergence; `None` before one.
    max_window: Option<u64>,
    epoch: Option<CubicEpoch>,
    /// The part of the growth that is no whole byte.
    growth_rest: u128,
}

/// CUBIC, counted in bytes.
#[derive(Debug, Clone)]
pub struct CubicController {
    limits: WindowLimits,
    state: CubicState,
    before_reaction: Option<CubicState>,
    recovery: RecoveryPeriod,
    /// The latest acknowledgement or end of idleness: time in which the window is not used is counted from it.
    counted_ns: u64,
    smoothed_rtt_ns: u64,
}

impl CubicController {
    /// The controller of a new session whose packets have `packet_bytes` of payload.
    #[must_use]
    pub fn new(packet_bytes: u32) -> Self {
        let limits = WindowLimits::new(packet_bytes);
        Self {
            limits,
            state: CubicState {
                window: limits.initial,
                slow_start: SlowStartGrowth::with_hystart(),
                max_window: None,
                epoch: None,
                growth_rest: 0,
            },
            before_reaction: None,
            recovery: RecoveryPeriod::default(),
            counted_ns: 0,
            smoothed_rtt_ns: 0,
        }
    }

    /// One reaction to congestion for each round trip.
    fn react(&mut self, now_ns: u64, newest_sent_ns: u64) -> bool {
        if self.recovery.covers(newest_sent_ns) {
            return false;
        }
        self.recovery.begin(now_ns);
        self.before_reaction = Some(self.state.clone());
        let state = &mut self.state;
        let plateau = match state.max_window {
            Some(max) if state.window < max => {
                state.window * FAST_CONVERGENCE.0 / FAST_CONVERGENCE.1
            }
            _ => state.window,
        };
        state.max_window = Some(plateau);
        state.window = self.limits.clamp(state.window * BETA.0 / BETA.1);
        state.slow_start.set_threshold(state.window);
        state.epoch = None;
        state.growth_rest = 0;
        true
    }

    /// Nothing arrived for long: the path is probed again from slow start, as Linux does after a retransmission timeout.
    fn collapse(&mut self, now_ns: u64) {
        self.recovery.begin(now_ns);
        self.state.window = self.limits.min;
        self.state.max_window = None;
        self.state.epoch = None;
    }

    /// Takes time in which the window was not used out of the epoch.
    fn count_time(&mut self, now_ns: u64, is_used: bool) {
        let elapsed = now_ns.saturating_sub(self.counted_ns);
        self.counted_ns = self.counted_ns.max(now_ns);
        if let (false, Some(epoch)) = (is_used, &mut self.state.epoch) {
            epoch.skip(elapsed);
        }
    }

    fn grow(&mut self, acked: &AckedPackets) {
        let mut bytes = acked.bytes;
        if self.state.slow_start.is_active(self.state.window) {
            let (window, rest) = self.state.slow_start.grow(self.state.window, bytes);
            self.state.window = self.limits.clamp(window);
            bytes = rest;
        }
        if bytes > 0 && !self.state.slow_start.is_active(self.state.window) {
            self.grow_in_avoidance(acked, bytes);
        }
    }

    /// Congestion avoidance (RFC 9438 sections 4.2 to 4.5).
    fn grow_in_avoidance(&mut self, acked: &AckedPackets, bytes: u64) {
        let state = &mut self.state;
        let window = state.window;
        let plateau = state.max_window.unwrap_or(window);
        let epoch = state
            .epoch
            .get_or_insert_with(|| CubicEpoch::begin(acked.now_ns, window, plateau));
        let in_a_round_trip = acked.now_ns.saturating_add(acked.min_rtt_ns);
        let mut target = epoch
            .window_at(in_a_round_trip)
            .clamp(window, window + window / 2);
        if state.max_window.is_none() {
            target = target.max(window + window / UNKNOWN_PLATEAU_DIVISOR);
        }
        // More than a window cannot have been acknowledged in a round trip.
        let bytes = bytes.min(window);
        let amount = u128::from(target - window) * u128::from(bytes) + state.growth_rest;
        state.growth_rest = amount % u128::from(window);
        let growth = u64::try_from(amount / u128::from(window)).unwrap_or(u64::MAX);
        let reno = epoch.grow_reno(bytes, window);
        state.window = self.limits.clamp(window.saturating_add(growth).max(reno));
    }
}

impl CongestionController for CubicController {
    fn on_sent(&mut self, sent: &SentPackets) {
        if sent.in_flight == 0 {
            self.count_time(sent.now_ns, false);
        }
    }

    fn on_acked(&mut self, acked: &AckedPackets) {
        self.smoothed_rtt_ns = acked.smoothed_rtt_ns;
        self.count_time(acked.now_ns, acked.is_window_limited);
        if acked.marked > 0 && self.react(acked.now_ns, acked.newest_sent_ns) {
            // Marks are no mistake that later packets could reveal.
            self.before_reaction = None;
        }
        if self.recovery.covers(acked.newest_sent_ns) {
            return;
        }
        let window = self.state.window;
        self.state.slow_start.on_acked(acked, window);
        if acked.is_window_limited {
            self.grow(acked);
        }
    }

    fn on_lost(&mut self, lost: &LostPackets) {
        self.react(lost.now_ns, lost.newest_sent_ns);
        if lost.is_persistent {
            self.collapse(lost.now_ns);
        }
    }

    fn on_spurious_loss(&mut self, _now_ns: u64) {
        if let Some(before) = self.before_reaction.take() {
            let window = self.state.window.max(before.window);
            self.state = before;
            self.state.window = window;
            self.recovery.end();
        }
    }

    fn window(&self) -> u64 {
        self.state.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        let percent = if self.is_slow_start() {
            SLOW_START_PACING_PERCENT
        } else {
            AVOIDANCE_PACING_PERCENT
        };
        window_rate(self.state.window, self.smoothed_rtt_ns, percent)
    }

    fn is_slow_start(&self) -> bool {
        self.state.slow_start.is_active(self.state.window)
    }

    fn name(&self) -> &'static str {
        "cubic"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::controller::{sample_ack, sample_loss};

    const MSS: u64 = 1448;
    const MS: u64 = 1_000_000;

    /// A controller in congestion avoidance whose latest loss was at a window of `segments` nominal segments.
    fn after_loss_at(segments: u64) -> CubicController {
        let mut cubic = CubicController::new(1400);
        cubic.state.window = segments * MSS;
        cubic.on_lost(&sample_loss(100 * MS, 90 * MS));
        cubic
    }

    /// Acknowledges a whole window every 50 ms from `from_ns` to `to_ns`, in `parts` acknowledgements.
    fn run(cubic: &mut CubicController, from_ns: u64, to_ns: u64, parts: u64) {
        let step = 50 * MS / parts;
        let mut now = from_ns;
        while now < to_ns {
            now += step;
            let bytes = cubic.window() / parts;
            cubic.on_acked(&sample_ack(now, bytes));
        }
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_however_few_acknowledgements_there_are() {
        for parts in [1, 10, 100] {
            let mut cubic = CubicController::new(100);
            let bytes = cubic.window() / parts;
            for _ in 0..parts {
                cubic.on_acked(&sample_ack(50 * MS, bytes));
            }
            assert_eq!(cubic.window(), 14_480 + bytes * parts);
        }
    }

    #[test]
    fn loss_leaves_seven_tenths_once_for_each_round_trip() {
        let mut cubic = after_loss_at(100);
        assert_eq!(cubic.window(), 70 * MSS);
        cubic.on_lost(&sample_loss(110 * MS, 99 * MS));
        assert_eq!(cubic.window(), 70 * MSS);
        cubic.on_lost(&sample_loss(170 * MS, 120 * MS));
        assert_eq!(cubic.window(), 49 * MSS);
    }

    #[test]
    fn a_loss_below_the_plateau_lowers_the_next_one_to_make_room() {
        let mut cubic = after_loss_at(100);
        assert_eq!(cubic.state.max_window, Some(100 * MSS));
        cubic.on_lost(&sample_loss(200 * MS, 150 * MS));
        assert_eq!(cubic.state.max_window, Some(70 * MSS * 17 / 20));
    }

    #[test]
    fn the_window_follows_the_curve_to_its_plateau_and_beyond() {
        for parts in [1, 4, 50] {
            // 1000 segments: far beyond the region of Reno. K = ∛(300 / 0.4) = 9.086 s.
            let mut cubic = after_loss_at(1000);
            let begin = 200 * MS;
            cubic.on_acked(&sample_ack(begin, MSS));
            let curve = CubicEpoch::begin(begin, 700 * MSS, 1000 * MSS);
            let mut now = begin;
            for second in [2, 5, 9, 12] {
                run(&mut cubic, now, begin + second * 1000 * MS, parts);
                now = begin + second * 1000 * MS;
                let due = curve.window_at(now + 50 * MS);
                let share = cubic.window() as f64 / due as f64;
                assert!((0.98..=1.01).contains(&share), "{second} s: {share}");
            }
        }
    }

    #[test]
    fn a_small_window_grows_as_renos_would() {
        // 10 segments at 50 ms: the curve needs 1.96 s to its plateau, Reno's 9/17 segment each round trip comes close earlier.
        let mut cubic = after_loss_at(10);
        run(&mut cubic, 200 * MS, 200 * MS + 20 * 50 * MS, 1);
        let grown = cubic.window() - 7 * MSS;
        let reno = 5 * MSS + 15 * MSS;
        assert!(grown > 4 * MSS && grown < reno, "{grown}");
    }

    #[test]
    fn growth_in_a_round_is_half_the_window_at_most() {
        let mut cubic = after_loss_at(100);
        cubic.on_acked(&sample_ack(200 * MS, MSS));
        let before = cubic.window();
        cubic.on_acked(&sample_ack(1_000_000 * MS, u64::MAX));
        assert_eq!(cubic.window(), before + before / 2);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow_and_time_stands_still() {
        let mut cubic = after_loss_at(1000);
        cubic.on_acked(&sample_ack(200 * MS, MSS));
        let before = cubic.clone();
        for step in 1..=1000 {
            cubic.on_acked(&AckedPackets {
                is_window_limited: false,
                ..sample_ack(200 * MS + step * 50 * MS, 100 * MSS)
            });
        }
        assert_eq!(cubic.window(), before.window());
        let skipped = cubic.state.epoch.map(|epoch| epoch.window_at(50_200 * MS));
        assert_eq!(
            skipped,
            before.state.epoch.map(|epoch| epoch.window_at(200 * MS))
        );
    }

    #[test]
    fn idleness_is_not_part_of_the_epoch() {
        let mut cubic = after_loss_at(1000);
        cubic.on_acked(&sample_ack(200 * MS, MSS));
        let before = cubic.state.epoch.map(|epoch| epoch.window_at(200 * MS));
        cubic.on_sent(&SentPackets {
            now_ns: 60_200 * MS,
            bytes: 1420,
            in_flight: 0,
        });
        assert_eq!(
            cubic.state.epoch.map(|epoch| epoch.window_at(60_200 * MS)),
            before
        );
    }

    #[test]
    fn spurious_loss_restores_window_threshold_and_epoch() {
        let mut cubic = after_loss_at(1000);
        run(&mut cubic, 200 * MS, 2000 * MS, 10);
        let before = cubic.clone();
        cubic.on_lost(&sample_loss(2100 * MS, 2080 * MS));
        assert!(cubic.window() < before.window());
        cubic.on_spurious_loss(2150 * MS);
        assert_eq!(cubic.window(), before.window());
        assert_eq!(cubic.state.epoch, before.state.epoch);
        assert_eq!(cubic.state.max_window, before.state.max_window);
        assert!(!cubic.is_slow_start());
        cubic.on_spurious_loss(2160 * MS);
        assert_eq!(cubic.window(), before.window());
    }

    #[test]
    fn marks_count_as_loss_and_are_not_undone() {
        let mut cubic = after_loss_at(1000);
        cubic.on_acked(&AckedPackets {
            marked: 3,
            ..sample_ack(200 * MS, MSS)
        });
        assert_eq!(cubic.window(), 490 * MSS);
        cubic.on_acked(&AckedPackets {
            marked: 3,
            ..sample_ack(210 * MS, MSS)
        });
        cubic.on_spurious_loss(220 * MS);
        assert_eq!(cubic.window(), 490 * MSS);
    }

    #[test]
    fn persistent_congestion_leaves_the_minimum_and_slow_start_to_seven_tenths() {
        let mut cubic = CubicController::new(1400);
        cubic.state.window = 100 * MSS;
        cubic.on_lost(&LostPackets {
            is_persistent: true,
            ..sample_loss(100 * MS, 90 * MS)
        });
        assert_eq!(cubic.window(), 2 * MSS);
        assert!(cubic.is_slow_start());
        run(&mut cubic, 200 * MS, 450 * MS, 1);
        assert_eq!(cubic.window(), 64 * MSS);
        run(&mut cubic, 450 * MS, 500 * MS, 1);
        assert!(!cubic.is_slow_start());
        assert!((70 * MSS..80 * MSS).contains(&cubic.window()));
    }

    #[test]
    fn pacing_is_twice_the_window_a_round_trip_in_slow_start_and_six_fifths_later() {
        let mut cubic = CubicController::new(1400);
        assert_eq!(cubic.pacing_rate(), None);
        cubic.on_acked(&sample_ack(50 * MS, 0));
        assert_eq!(cubic.pacing_rate(), Some(14_480 * 20 * 2));
        cubic.on_lost(&sample_loss(100 * MS, 90 * MS));
        assert_eq!(cubic.pacing_rate(), Some(10_136 * 20 * 6 / 5));
    }
}
