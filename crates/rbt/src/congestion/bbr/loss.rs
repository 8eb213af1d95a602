//! What losses show of the path.

use super::bounds::{BETA_PERCENT, percent_of};
use super::phase::BbrPhase;
use super::state::{AckView, BbrState, BeforeLoss};

/// Maximum loss in a round trip, percent of the bytes in flight (`LossThresh`).
const LOSS_THRESHOLD_PERCENT: u64 = 2;
/// Further datagrams of a round trip that may be lost by chance, up to the threshold itself.
const CHANCE_DATAGRAMS: u64 = 3;

impl BbrState {
    /// Whether `lost` of `in_flight` bytes are too many.
    ///
    /// A round trip of 200 datagrams often loses 2 % of them by chance when the path loses 1 %. The draft takes that for congestion;
    /// here it takes up to three datagrams more, and at most twice the threshold.
    pub fn is_inflight_too_high(&self, lost: u64, in_flight: u64) -> bool {
        let threshold = percent_of(in_flight, LOSS_THRESHOLD_PERCENT);
        let chance = threshold.min(CHANCE_DATAGRAMS * self.datagram);
        lost > threshold.saturating_add(chance)
    }

    /// The data in flight that the model asks for, unless congestion cut it (`TargetInflight`).
    pub fn target_inflight(&self) -> u64 {
        self.bdp_percent(self.bw(), 100).min(self.window)
    }

    /// Forgets what the latest round showed.
    pub fn reset_latest(&mut self) {
        self.latest.is_loss = false;
        self.latest.bw = 0;
        self.latest.inflight = 0;
    }

    /// Takes the sample of an acknowledgement, and at the end of a round its losses (section 5.5.10.3).
    ///
    /// The draft lowers the limits after every round with a loss. Each round then carries less than the one before by its losses and
    /// the pacing margin, and at 1 % of random loss a fifth of the path stays empty. Here, losses that the threshold tolerates while
    /// probing are tolerated between probes, too.
    pub fn update_congestion_signals(&mut self, ack: &AckView) {
        self.latest.bw = self.latest.bw.max(ack.bytes_per_s);
        self.latest.inflight = self.latest.inflight.max(ack.delivered);
        self.bandwidth.add(ack.bytes_per_s, ack.is_app_limited);
        if !ack.is_loss_round_start {
            return;
        }
        if self.latest.is_loss {
            self.check_startup_losses(ack);
            let is_too_much = self.is_inflight_too_high(ack.lost, ack.tx_in_flight);
            if is_too_much && !self.phase.is_probing_bandwidth() {
                let latest = &self.latest;
                let max_bw = self.bandwidth.max();
                self.bounds
                    .lower(max_bw, self.window, latest.bw, latest.inflight);
            }
        }
        self.latest.is_loss = false;
        self.latest.losses = 0;
        self.latest.acks = 0;
    }

    /// Ends the round that [`Self::update_congestion_signals`] looked at.
    pub fn advance_latest(&mut self, ack: &AckView) {
        if ack.is_loss_round_start {
            self.latest.bw = ack.bytes_per_s;
            self.latest.inflight = ack.delivered;
        }
    }

    /// `bytes` were lost, of packets the newest of which left at `newest_sent_ns` (section 5.5.10.2).
    pub fn on_loss(&mut self, now_ns: u64, bytes: u64, newest_sent_ns: u64) {
        self.lost = self.lost.saturating_add(bytes);
        self.note_loss();
        if !self.recovery.covers(newest_sent_ns) {
            self.recovery.begin(now_ns);
            self.in_recovery = true;
        }
        if !self.probe.is_sampled {
            return;
        }
        let flight = self.history.at(newest_sent_ns).unwrap_or_default();
        let lost = self.lost.saturating_sub(flight.lost);
        if self.is_inflight_too_high(lost, flight.in_flight) {
            let safe = inflight_at_loss(flight.in_flight, lost, bytes);
            self.on_inflight_too_high(now_ns, safe);
        }
    }

    fn note_loss(&mut self) {
        self.latest.losses = self.latest.losses.saturating_add(1);
        if !self.latest.is_loss {
            self.latest.end_delivered = self.delivered;
            self.save_window();
            self.before_loss = Some(BeforeLoss {
                bounds: self.bounds,
                phase: None,
            });
        }
        self.latest.is_loss = true;
    }

    /// A probe put too much in flight.
    fn on_inflight_too_high(&mut self, now_ns: u64, safe: u64) {
        self.probe.was_too_high = true;
        self.probe.is_sampled = false;
        let floor = percent_of(self.target_inflight(), BETA_PERCENT);
        self.bounds.inflight_hi = safe.max(floor);
        if self.phase == BbrPhase::Up {
            self.note_ended_phase(BbrPhase::Up);
            self.enter_down(now_ns);
        }
    }

    /// Losses end a state: if they were none, it is returned to.
    pub fn note_ended_phase(&mut self, phase: BbrPhase) {
        if let Some(before) = &mut self.before_loss {
            before.phase = Some(phase);
        }
    }

    /// Nothing arrived for long: no more than what is in flight and a segment, until packets sent from now on are acknowledged.
    pub fn on_timeout(&mut self, now_ns: u64, in_flight: u64) {
        self.save_window();
        self.in_recovery = true;
        self.recovery.begin(now_ns);
        let window = in_flight.saturating_add(self.segment);
        self.window = window.clamp(self.min_window, self.window.max(self.min_window));
    }

    /// Recovery ends with the acknowledgement of a packet that left after it began.
    pub fn check_recovery(&mut self, newest_sent_ns: u64) {
        if self.in_recovery && !self.recovery.covers(newest_sent_ns) {
            self.in_recovery = false;
            self.restore_window();
        }
    }

    /// The losses were none (section 5.5.11.2).
    pub fn undo_losses(&mut self) {
        let Some(before) = self.before_loss.take() else {
            return;
        };
        self.restore_window();
        self.latest.is_loss = false;
        self.full_pipe.search_from(0);
        self.bounds = self.bounds.widest(before.bounds);
        match before.phase {
            Some(BbrPhase::Startup) if self.phase != BbrPhase::Startup => {
                self.full_pipe.was_full = false;
                if self.phase != BbrPhase::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(BbrPhase::Up) if !matches!(self.phase, BbrPhase::Up | BbrPhase::ProbeRtt) => {
                self.enter_refill();
            }
            _ => {}
        }
    }
}

/// The bytes in flight at which losses passed the threshold, within the `size` bytes that were lost last (`InflightAtLoss`).
fn inflight_at_loss(in_flight: u64, lost: u64, size: u64) -> u64 {
    let before = in_flight.saturating_sub(size);
    let lost_before = lost.saturating_sub(size);
    let allowed = percent_of(before, LOSS_THRESHOLD_PERCENT).saturating_sub(lost_before);
    let prefix = u128::from(allowed) * 100 / u128::from(100 - LOSS_THRESHOLD_PERCENT);
    before.saturating_add(u64::try_from(prefix).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_safe_amount_lies_where_losses_pass_two_percent() {
        assert_eq!(inflight_at_loss(100_000, 10_000, 10_000), 91_836);
        assert_eq!(inflight_at_loss(100_000, 10_000, 1000), 99_000);
    }
}
