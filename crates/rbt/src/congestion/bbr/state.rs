//! What BBR remembers, and what it reads from an acknowledgement.

use super::super::controller::AckedPackets;
use super::super::recovery::RecoveryPeriod;
use super::super::window::{NOMINAL_DATAGRAM_BYTES, WindowLimits, datagram_bytes};
use super::aggregation::AckAggregation;
use super::bandwidth::BandwidthFilter;
use super::bounds::{PathBounds, UNBOUNDED};
use super::flight_history::FlightHistory;
use super::full_pipe::FullPipe;
use super::min_rtt::MinRttFilter;
use super::phase::BbrPhase;
use super::rounds::RoundCounter;
use caudal_stats::random::SplitMix64;

/// `MinPipeCwnd`: segments in flight that keep the path busy, however short it is.
const MIN_PIPE_SEGMENTS: u64 = 4;

/// What acknowledgements show of the latest probe (`ack_phase`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeFeedback {
    /// Nothing.
    None,
    /// They are of packets that left before Refill.
    Refilling,
    /// They are of packets that left before the probe.
    Starting,
    /// They are of packets of the probe.
    Current,
    /// They are the last ones of packets of the probe.
    Stopping,
}

/// The state of the probes of ProbeBW.
#[derive(Debug, Clone)]
pub(super) struct BandwidthProbe {
    pub feedback: ProbeFeedback,
    /// `is_bw_probe_sample`: losses are those of a probe that was not reacted to.
    pub is_sampled: bool,
    pub was_too_high: bool,
    pub was_precautionary: bool,
    /// Rounds of Up: the growth of `inflight_hi` doubles with each.
    pub up_rounds: u32,
    pub up_acked: u64,
    /// Bytes acknowledged for each segment that `inflight_hi` grows.
    pub up_acked_per_segment: u64,
    /// `rounds_since_probe_up`.
    pub rounds_since: u64,
    /// The wall-clock time from the beginning of the cycle to the next probe, ns.
    pub wait_ns: u64,
    pub cycle_start_ns: u64,
}

/// What the latest round showed, and its losses.
#[derive(Debug, Clone, Default)]
pub(super) struct LatestRound {
    /// The maximum delivery rate, bytes a second.
    pub bw: u64,
    /// The maximum delivered over the time of one acknowledgement's sample, bytes.
    pub inflight: u64,
    /// The round of losses ends when a packet that left at this count is acknowledged.
    pub end_delivered: u64,
    pub is_loss: bool,
    /// Loss events and acknowledgements in it.
    pub losses: u32,
    pub acks: u32,
}

/// ProbeRTT while it lasts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RttProbe {
    /// When it may end, ns; `None` until little is in flight.
    pub done_ns: Option<u64>,
    pub is_round_done: bool,
}

/// What losses changed, for the case that they were none.
#[derive(Debug, Clone, Copy)]
pub(super) struct BeforeLoss {
    pub bounds: PathBounds,
    /// The state that the losses ended.
    pub phase: Option<BbrPhase>,
}

/// What an acknowledgement shows (`RS`).
#[derive(Debug, Clone, Copy)]
pub(super) struct AckView {
    pub now_ns: u64,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    pub rtt_ns: Option<u64>,
    /// The delivery rate, 0 without a sample.
    pub bytes_per_s: u64,
    /// Bytes delivered over its interval.
    pub delivered: u64,
    pub is_app_limited: bool,
    pub is_window_limited: bool,
    /// Bytes in flight when the newest packet left, and bytes lost since then.
    pub tx_in_flight: u64,
    pub lost: u64,
    pub is_round_start: bool,
    pub is_loss_round_start: bool,
}

/// The state of BBR.
#[derive(Debug, Clone)]
pub(super) struct BbrState {
    /// The size of a datagram.
    pub datagram: u64,
    /// The size of a segment: a nominal one, or a larger datagram.
    pub segment: u64,
    pub initial_window: u64,
    pub min_window: u64,
    pub phase: BbrPhase,
    pub window: u64,
    /// The window before losses or ProbeRTT.
    pub prior_window: u64,
    pub pacing_rate: Option<u64>,
    /// Bytes delivered and lost in all.
    pub delivered: u64,
    pub lost: u64,
    pub bandwidth: BandwidthFilter,
    pub min_rtt: MinRttFilter,
    pub rounds: RoundCounter,
    pub full_pipe: FullPipe,
    pub aggregation: AckAggregation,
    pub bounds: PathBounds,
    pub history: FlightHistory,
    pub latest: LatestRound,
    pub probe: BandwidthProbe,
    pub rtt_probe: RttProbe,
    pub drain_start_round: u64,
    /// Samples of packets that left before this was delivered are limited by ProbeRTT, not by the path.
    pub limited_until: u64,
    pub is_restarting: bool,
    pub recovery: RecoveryPeriod,
    pub in_recovery: bool,
    pub before_loss: Option<BeforeLoss>,
    pub rng: SplitMix64,
}

impl BbrState {
    /// The state of a new session.
    pub fn new(packet_bytes: u32, seed: u64) -> Self {
        let datagram = datagram_bytes(packet_bytes);
        let segment = datagram.max(NOMINAL_DATAGRAM_BYTES);
        let initial = WindowLimits::new(packet_bytes).initial;
        let min_window = MIN_PIPE_SEGMENTS * segment;
        Self {
            datagram,
            segment,
            initial_window: initial.max(min_window),
            min_window,
            phase: BbrPhase::Startup,
            window: initial.max(min_window),
            prior_window: 0,
            pacing_rate: None,
            delivered: 0,
            lost: 0,
            bandwidth: BandwidthFilter::default(),
            min_rtt: MinRttFilter::default(),
            rounds: RoundCounter::default(),
            full_pipe: FullPipe::default(),
            aggregation: AckAggregation::default(),
            bounds: PathBounds::NONE,
            history: FlightHistory::new(),
            latest: LatestRound::default(),
            probe: BandwidthProbe {
                feedback: ProbeFeedback::None,
                is_sampled: false,
                was_too_high: false,
                was_precautionary: false,
                up_rounds: 0,
                up_acked: 0,
                up_acked_per_segment: UNBOUNDED,
                rounds_since: 0,
                wait_ns: 0,
                cycle_start_ns: 0,
            },
            rtt_probe: RttProbe::default(),
            drain_start_round: 0,
            limited_until: 0,
            is_restarting: false,
            recovery: RecoveryPeriod::default(),
            in_recovery: false,
            before_loss: None,
            rng: SplitMix64::new(seed),
        }
    }

    /// Reads an acknowledgement and counts the rounds (sections 5.5.1 and 5.5.10.3).
    pub fn read(&mut self, acked: &AckedPackets) -> AckView {
        self.delivered = match acked.rate {
            Some(rate) => rate.delivered,
            None => self.delivered.saturating_add(acked.bytes),
        };
        let flight = self.history.at(acked.newest_sent_ns).unwrap_or_default();
        let mut view = AckView {
            now_ns: acked.now_ns,
            bytes: acked.bytes,
            in_flight: acked.in_flight,
            rtt_ns: acked.rtt_ns,
            bytes_per_s: 0,
            delivered: 0,
            is_app_limited: true,
            is_window_limited: acked.is_window_limited,
            tx_in_flight: flight.in_flight,
            lost: self.lost.saturating_sub(flight.lost),
            is_round_start: false,
            is_loss_round_start: false,
        };
        self.latest.acks = self.latest.acks.saturating_add(1);
        if let Some(rate) = acked.rate {
            view.bytes_per_s = rate.bytes_per_s;
            view.delivered = rate.delivered.saturating_sub(rate.prior_delivered);
            view.is_app_limited = rate.is_app_limited || rate.prior_delivered < self.limited_until;
            view.is_round_start = self.rounds.on_acked(rate.prior_delivered, rate.delivered);
            view.is_loss_round_start = rate.prior_delivered >= self.latest.end_delivered;
        }
        if view.is_round_start {
            self.probe.rounds_since = self.probe.rounds_since.saturating_add(1);
        }
        if view.is_loss_round_start {
            self.latest.end_delivered = self.delivered;
        }
        view
    }

    /// The bandwidth the model trusts, bytes a second (`BBR.bw`).
    pub fn bw(&self) -> u64 {
        self.bandwidth.max().min(self.bounds.bw_lo)
    }

    /// Remembers the window before losses or ProbeRTT.
    pub fn save_window(&mut self) {
        self.prior_window = if self.in_recovery || self.phase == BbrPhase::ProbeRtt {
            self.prior_window.max(self.window)
        } else {
            self.window
        };
    }

    /// Returns to the window before losses or ProbeRTT.
    pub fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// A round begins now.
    pub fn begin_round(&mut self) {
        self.rounds.begin(self.delivered);
    }
}
