//! The sending end of a session.

use super::blocks::BlockLedger;
use super::loss::LossDetector;
use super::sent::SentRing;
use super::status::{SenderCounts, SenderStatus};
use crate::config::{Arq, DATA_HEADER_BYTES, TransferConfig};
use crate::congestion::{
    CongestionController, DatagramPacer, DeliveryRate, RbtCongestion, RoundTripTime,
};
use crate::error::{AbortCode, TransferError};
use crate::wire::{Ack, ControlKind, Fin, FinAck, FinAckState, parse_control, session_of};
use caudal_stats::random::SplitMix64;
use std::ops::Range;

/// Maximum size of a batch, bytes: what one call with segmentation offload takes.
const MAX_BATCH_BYTES: u64 = 65_535;

/// Copies of the CLOSE: a receiver that gets none waits for seconds.
const CLOSES: u32 = 3;

/// What the receiver grants.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerGrants {
    /// The first block that may not be sent yet.
    pub(super) credit: u64,
    /// The bytes that its socket's buffer holds.
    pub(super) budget: u64,
    /// Congestion Experienced as last reported.
    pub(super) marked: u64,
}

/// Timers and what they are reckoned from, ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    /// The latest departure of anything that asks for an answer.
    pub(super) last_sent: u64,
    /// The latest arrival of anything.
    pub(super) last_heard: u64,
    /// The latest time at which a block was newly acknowledged, or none was outstanding.
    pub(super) last_progress: u64,
    /// Probe timeouts in a row.
    pub(super) ptos: u32,
    /// Probes to be sent, whatever the window.
    pub(super) probes: usize,
    /// The time before which pacing lets nothing leave; 0 when it does.
    pub(super) paced_until: u64,
    /// `true` while a PING waits for its answer.
    pub(super) is_pinging: bool,
}

/// The state of the end of the session.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ending {
    /// The size of the whole content, once it is known.
    pub(super) total: Option<u64>,
    /// Its blocks.
    pub(super) blocks: Option<u64>,
    /// The digest of the whole content, once it is known.
    pub(super) digest: Option<[u8; 32]>,
    /// `true` while a FIN is to be sent.
    pub(super) is_fin_due: bool,
    /// `true` once a FIN was sent.
    pub(super) is_fin_sent: bool,
    /// `true` once the receiver has said that it has every byte.
    pub(super) is_received: bool,
    /// A PING, an ABORT or a CLOSE to be sent.
    pub(super) control: Option<ControlKind>,
    /// Copies of it to be sent after that.
    pub(super) closes: u32,
    /// The reason of the ABORT.
    pub(super) abort: Option<AbortCode>,
}

/// The sending end of a session: datagrams of the receiver in, batches of datagrams out.
#[derive(Debug)]
pub struct BlockSender {
    pub(super) config: TransferConfig,
    /// Bytes of a full data datagram, the header of RBT included.
    pub(super) segment: u64,
    pub(super) controller: RbtCongestion,
    pub(super) pacer: DatagramPacer,
    pub(super) delivery: DeliveryRate,
    /// The maximum rate that the caller asked for, bytes a second.
    pub(super) max_rate: Option<u64>,
    /// The highest delivery rate of late, bytes a second.
    pub(super) peak_rate: u64,
    pub(super) rtt: RoundTripTime,
    pub(super) sent: SentRing,
    pub(super) blocks: BlockLedger,
    pub(super) loss: LossDetector,
    pub(super) granted: PeerGrants,
    pub(super) timing: Timing,
    pub(super) ending: Ending,
    pub(super) in_flight: u64,
    pub(super) packets_in_flight: u64,
    /// `true` when the window was used up since the last acknowledgement.
    pub(super) is_window_limited: bool,
    pub(super) status: SenderStatus,
    pub(super) counts: SenderCounts,
    pub(super) rng: SplitMix64,
    /// The number that is skipped next.
    pub(super) next_skip: u64,
    /// Where acknowledgements are read into.
    pub(super) ack: Ack,
    pub(super) acked: crate::range_set::RangeSet,
    pub(super) added: Vec<Range<u64>>,
    /// Where control datagrams are built.
    pub(super) control: Vec<u8>,
    /// The content below was released.
    pub(super) released: u64,
}

impl BlockSender {
    /// A sender that has sent nothing yet. Until the first acknowledgement it holds the receiver's window of `config` for granted, and
    /// `budget` for the receiver's buffer.
    #[must_use]
    pub fn new(
        config: &TransferConfig,
        controller: RbtCongestion,
        budget: crate::config::SocketBudget,
        now_ns: u64,
    ) -> Self {
        let (config, error) = config.checked();
        let segment = config.block_bytes() + DATA_HEADER_BYTES as u64;
        let mut rng = SplitMix64::new(config.seed);
        let next_skip = config.first_pn + 64 + rng.below(512);
        let status = error.map_or(SenderStatus::Sending, SenderStatus::Failed);
        Self {
            segment,
            controller,
            pacer: DatagramPacer::new(config.packet_bytes, MAX_BATCH_BYTES),
            delivery: DeliveryRate::new(),
            max_rate: None,
            peak_rate: 0,
            rtt: RoundTripTime::new(),
            sent: SentRing::new(config.first_pn),
            blocks: BlockLedger::new(crate::config::MAX_WINDOW_BLOCKS),
            loss: LossDetector::new(config.first_pn),
            granted: PeerGrants {
                credit: config.window_blocks(),
                budget: budget.0.max(segment),
                marked: 0,
            },
            timing: Timing {
                last_sent: now_ns,
                last_heard: now_ns,
                last_progress: now_ns,
                ptos: 0,
                probes: 0,
                paced_until: 0,
                is_pinging: false,
            },
            ending: Ending {
                total: config.total_bytes,
                blocks: config.content_blocks(),
                ..Ending::default()
            },
            in_flight: 0,
            packets_in_flight: 0,
            is_window_limited: false,
            status,
            counts: SenderCounts::default(),
            rng,
            next_skip,
            ack: Ack::default(),
            acked: crate::range_set::RangeSet::default(),
            added: Vec::new(),
            control: Vec::new(),
            released: config.start_bytes,
            config,
        }
    }

    /// Sets the digest of the whole content, what the receiver had before included. It is needed at the end only.
    pub const fn set_digest(&mut self, digest: [u8; 32]) {
        self.ending.digest = Some(digest);
    }

    /// Limits the rate at which datagrams leave, headers of RBT included, bytes a second.
    pub const fn set_max_rate(&mut self, bytes_per_s: u64) {
        self.max_rate = Some(bytes_per_s);
    }

    /// The rate at which datagrams leave, bytes a second; `None` without a limit.
    pub(super) fn pacing_rate(&self) -> Option<u64> {
        match (self.controller.pacing_rate(), self.max_rate) {
            (Some(rate), Some(max)) => Some(rate.min(max)),
            (rate, max) => rate.or(max),
        }
    }

    /// Takes the round-trip time of the handshake, ns.
    pub fn set_handshake_rtt(&mut self, rtt_ns: u64) {
        if self.rtt.latest_ns().is_none() {
            self.rtt.add_sample(rtt_ns, 0);
        }
    }

    /// Takes a datagram of the receiver.
    ///
    /// # Errors
    /// When it ends the session; [`Self::status`] reports the same.
    pub fn handle_datagram(&mut self, now_ns: u64, datagram: &[u8]) -> Result<(), TransferError> {
        let parsed = match session_of(datagram) {
            Some(session) if session == self.config.session => parse_control(datagram),
            _ => None,
        };
        let Some((kind, body)) = parsed else {
            self.counts.ignored += 1;
            return Ok(());
        };
        if matches!(
            self.status,
            SenderStatus::Complete | SenderStatus::Failed(_)
        ) {
            return Ok(());
        }
        let outcome = match kind {
            ControlKind::Ack => self.on_ack(now_ns, body),
            ControlKind::FinAck => self.on_fin_ack(now_ns, body),
            ControlKind::Abort => Err(TransferError::PeerAborted(AbortCode::read(body))),
            _ => {
                self.counts.ignored += 1;
                Ok(())
            }
        };
        if let Err(error) = outcome {
            if !matches!(error, TransferError::PeerAborted(_)) {
                self.ending.abort = Some(AbortCode::Protocol);
                self.ending.control = Some(ControlKind::Abort);
            }
            self.status = SenderStatus::Failed(error);
        }
        outcome
    }

    fn on_fin_ack(&mut self, now_ns: u64, body: &[u8]) -> Result<(), TransferError> {
        let (Some(FinAck(state)), true) = (FinAck::read(body), self.ending.is_fin_sent) else {
            self.counts.ignored += 1;
            return Ok(());
        };
        self.timing.last_heard = now_ns;
        if !self.ending.is_received {
            // From now on the receiver answers by itself as soon as it can: it is asked ever more rarely.
            self.timing.ptos = 0;
        }
        self.ending.is_received = true;
        self.blocks.advance(self.blocks.sent_end());
        self.cancel_in_flight();
        self.loss.due_ns = None;
        match state {
            FinAckState::Verifying => self.status = SenderStatus::AwaitingFinAck,
            FinAckState::Equal => {
                self.status = SenderStatus::Complete;
                self.close();
            }
            FinAckState::Different => {
                self.close();
                self.status = SenderStatus::Failed(TransferError::DigestMismatch);
                return Err(TransferError::DigestMismatch);
            }
        }
        Ok(())
    }

    /// Tells the receiver that its last answer is here, more than once: nothing is left that would repeat it.
    const fn close(&mut self) {
        self.ending.control = Some(ControlKind::Close);
        self.ending.closes = CLOSES - 1;
    }

    /// The FIN as it would be sent now; `None` while the size or the digest is unknown.
    pub(super) fn fin(&self) -> Option<Fin> {
        Some(Fin {
            total: self.ending.total?,
            digest: self.ending.digest?,
            pto_us: u32::try_from(self.probe_timeout() / 1000).unwrap_or(u32::MAX),
        })
    }

    /// The blocks of the content, once its size is known.
    #[inline]
    pub(super) const fn content_blocks(&self) -> Option<u64> {
        self.ending.blocks
    }

    /// The payload of a block: full, but for the last one.
    #[inline]
    pub(super) fn payload_bytes(&self, block: u64) -> u64 {
        let full = self.segment - DATA_HEADER_BYTES as u64;
        match (self.ending.blocks, self.ending.total) {
            (Some(blocks), Some(total)) if block + 1 >= blocks => {
                let from = self.config.start_bytes + block * full;
                total.saturating_sub(from).min(full)
            }
            _ => full,
        }
    }

    /// The probe timeout without back-off, ns.
    pub(super) fn probe_timeout(&self) -> u64 {
        self.rtt
            .probe_timeout_ns(self.config.granularity_ns, self.config.max_ack_delay_ns)
    }

    /// `true` when the receiver acknowledges blocks instead of packets.
    pub(super) const fn acknowledges_blocks(&self) -> bool {
        !matches!(self.config.arq, Arq::Sack)
    }

    /// The end of the content that the receiver has without a gap, as far as it has said.
    #[must_use]
    pub fn acked_bytes(&self) -> u64 {
        let bytes =
            self.config.start_bytes + self.blocks.first_missing() * self.config.block_bytes();
        self.ending.total.map_or(bytes, |total| bytes.min(total))
    }

    /// The state.
    #[must_use]
    pub const fn status(&self) -> SenderStatus {
        self.status
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> SenderCounts {
        SenderCounts {
            min_rtt_ns: self.rtt.min_ns().unwrap_or_default(),
            smoothed_rtt_ns: self.rtt.smoothed_ns().unwrap_or_default(),
            congestion_window: self.controller.window(),
            in_flight: self.in_flight,
            ..self.counts
        }
    }

    /// The bytes of memory that it holds, apart from itself.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let ranges = self.added.capacity() + self.ack.ranges.capacity();
        self.sent.memory_bytes()
            + self.blocks.memory_bytes()
            + self.acked.memory_bytes()
            + ranges * size_of::<Range<u64>>()
            + self.ack.bitmap.capacity()
            + self.control.capacity()
    }

    /// Ends the session: the next `poll_transmit` says so to the receiver. Nothing happens to a session that has ended.
    pub fn abort(&mut self, code: AbortCode) {
        if matches!(
            self.status,
            SenderStatus::Sending | SenderStatus::AwaitingFinAck
        ) {
            self.ending.abort = Some(code);
            self.ending.control = Some(ControlKind::Abort);
            self.status = SenderStatus::Failed(TransferError::Aborted(code));
        }
    }
}
