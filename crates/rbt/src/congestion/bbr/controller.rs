//! BBR as a congestion controller.

use super::super::controller::{AckedPackets, CongestionController, LostPackets, SentPackets};
use super::flight_history::FlightRecord;
use super::phase::BbrPhase;
use super::state::BbrState;

/// BBR version 3.
#[derive(Debug, Clone)]
pub struct BbrController {
    state: BbrState,
    smoothed_rtt_ns: u64,
}

impl BbrController {
    /// The controller of a new session whose packets have `packet_bytes` of payload; `seed` is that of the time between probes.
    #[must_use]
    pub fn new(packet_bytes: u32, seed: u64) -> Self {
        Self {
            state: BbrState::new(packet_bytes, seed),
            smoothed_rtt_ns: 0,
        }
    }

    /// Packets with Congestion Experienced count as lost: the draft has no reaction of its own to them.
    fn on_marked(&mut self, acked: &AckedPackets) {
        if acked.marked > 0 {
            let bytes = acked.marked.saturating_mul(self.state.segment);
            let bytes = bytes.min(acked.bytes);
            self.state
                .on_loss(acked.now_ns, bytes, acked.newest_sent_ns);
        }
    }
}

impl CongestionController for BbrController {
    fn on_sent(&mut self, sent: &SentPackets) {
        let state = &mut self.state;
        let record = FlightRecord {
            sent_ns: sent.now_ns,
            in_flight: sent.in_flight.saturating_add(sent.bytes),
            lost: state.lost,
        };
        state.history.on_sent(record, self.smoothed_rtt_ns);
        if sent.in_flight == 0 {
            state.is_restarting = true;
            state.aggregation.restart(sent.now_ns);
            if state.phase.is_probe_bw() {
                state.set_pacing_rate(100);
            } else if state.phase == BbrPhase::ProbeRtt {
                state.check_probe_rtt_done(sent.now_ns);
            }
        }
    }

    fn on_acked(&mut self, acked: &AckedPackets) {
        self.smoothed_rtt_ns = acked.smoothed_rtt_ns;
        self.on_marked(acked);
        let state = &mut self.state;
        state.init_pacing_rate(acked.smoothed_rtt_ns);
        state.check_recovery(acked.newest_sent_ns);
        let ack = state.read(acked);
        state.update_congestion_signals(&ack);
        let (bw, window) = (state.bw(), state.window);
        let round = (state.rounds.count(), state.full_pipe.was_full);
        state
            .aggregation
            .on_acked(ack.now_ns, ack.bytes, bw, window, round);
        state.check_full_pipe(&ack);
        state.check_startup_and_drain(&ack);
        state.update_cycle(&ack);
        state.min_rtt.on_acked(ack.now_ns, ack.rtt_ns);
        state.check_probe_rtt(&ack);
        state.advance_latest(&ack);
        state.set_pacing_rate(state.phase.pacing_percent());
        state.set_window(&ack);
    }

    fn on_lost(&mut self, lost: &LostPackets) {
        self.state
            .on_loss(lost.now_ns, lost.bytes, lost.newest_sent_ns);
        if lost.is_persistent {
            self.state.on_timeout(lost.now_ns, lost.in_flight);
        }
    }

    fn on_spurious_loss(&mut self, _now_ns: u64) {
        self.state.undo_losses();
    }

    fn window(&self) -> u64 {
        self.state.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.state.pacing_rate
    }

    fn is_slow_start(&self) -> bool {
        self.state.phase == BbrPhase::Startup
    }

    fn name(&self) -> &'static str {
        "bbr"
    }
}

#[cfg(test)]
mod tests {
    use super::super::bounds::UNBOUNDED;
    use super::*;
    use crate::congestion::controller::{DeliveryRateSample, sample_ack, sample_loss};

    const MS: u64 = 1_000_000;

    /// A round trip of 50 ms that delivers a window of `bytes`.
    fn round(bbr: &mut BbrController, index: u64, bytes: u64) {
        let now_ns = (index + 1) * 50 * MS;
        let prior_delivered = bbr.state.delivered;
        bbr.on_sent(&SentPackets {
            now_ns: now_ns - 50 * MS,
            bytes,
            in_flight: 1,
        });
        bbr.on_acked(&AckedPackets {
            rate: Some(DeliveryRateSample {
                bytes_per_s: bytes * 20,
                prior_delivered,
                delivered: prior_delivered + bytes,
                is_app_limited: false,
            }),
            in_flight: bytes,
            ..sample_ack(now_ns, bytes)
        });
    }

    /// BBR after rounds that doubled the rate to 12.5 MB/s, and three without growth.
    fn after_startup() -> BbrController {
        let mut bbr = BbrController::new(1400, 1);
        for index in 0..9 {
            assert_eq!(bbr.state.phase, BbrPhase::Startup);
            round(&mut bbr, index, (20_000 << index).min(625_000));
        }
        bbr
    }

    #[test]
    fn startup_ends_after_three_rounds_without_growth() {
        let bbr = after_startup();
        assert!(bbr.state.phase.is_probe_bw());
        assert_eq!(bbr.state.bw(), 12_500_000);
        assert!(!bbr.is_slow_start());
    }

    #[test]
    fn the_pacing_rate_is_the_gain_times_the_bandwidth_less_one_percent() {
        let bbr = after_startup();
        let percent = bbr.state.phase.pacing_percent();
        assert_eq!(
            bbr.pacing_rate(),
            Some(12_500_000 * percent / 100 * 99 / 100)
        );
    }

    #[test]
    fn a_cycle_cruises_refills_and_probes_within_three_seconds() {
        let mut bbr = after_startup();
        let mut phases = vec![bbr.state.phase];
        for index in 9..80 {
            round(&mut bbr, index, 600_000);
            if phases.last() != Some(&bbr.state.phase) {
                phases.push(bbr.state.phase);
            }
        }
        use BbrPhase::{Cruise, Down, Refill, Up};
        let cycle = [Cruise, Refill, Up, Down, Cruise];
        assert!(phases.windows(5).any(|seen| seen == cycle), "{phases:?}");
    }

    #[test]
    fn a_probe_with_too_much_loss_sets_a_limit_that_undoing_lifts() {
        let mut bbr = after_startup();
        let mut index = 9;
        while bbr.state.phase != BbrPhase::Up {
            round(&mut bbr, index, 600_000);
            index += 1;
        }
        let now = (index + 1) * 50 * MS;
        bbr.on_lost(&LostPackets {
            bytes: 100_000,
            ..sample_loss(now, now - 50 * MS)
        });
        assert_eq!(bbr.state.phase, BbrPhase::Down);
        let hi = bbr.state.bounds.inflight_hi;
        assert!((625_000 * 7 / 10..625_000).contains(&hi), "{hi}");
        bbr.on_spurious_loss(now + MS);
        assert_eq!(bbr.state.phase, BbrPhase::Refill);
        assert_eq!(bbr.state.bounds.inflight_hi, UNBOUNDED);
    }

    #[test]
    fn persistent_congestion_holds_the_window_until_new_packets_arrive() {
        let mut bbr = after_startup();
        let before = bbr.window();
        bbr.on_lost(&LostPackets {
            is_persistent: true,
            ..sample_loss(450 * MS, 440 * MS)
        });
        assert_eq!(bbr.window(), 4 * 1448);
        round(&mut bbr, 10, 600_000);
        assert!(bbr.window() >= before / 2, "{} of {before}", bbr.window());
    }
}
