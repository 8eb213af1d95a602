//! The receiving end of a session.

use super::arrivals::{ArrivalOrder, Arrivals};
use super::status::{ReceiverCounts, ReceiverStatus};
use super::window::{BlockFate, ReassemblyWindow};
use crate::config::{Arq, SocketBudget, TransferConfig};
use crate::error::{AbortCode, TransferError};
use crate::wire::{
    Ack, ControlKind, DATA_KIND, Fin, kind_of, parse_control, parse_data, session_of,
};
use caudal_core::marks::Ecn;

/// Maximum time without any datagram before the sender counts as gone, ns.
const GIVE_UP_NS: u64 = 30_000_000_000;
/// Probe timeouts of the sender for which the last answer is repeated, unless the sender confirms it: three doubled ones.
const LINGER_PTOS: u64 = 7;
/// Minimum of this time, ns: an outage may last a second.
const MIN_LINGER_NS: u64 = 3_000_000_000;
/// Maximum of it, ns.
const MAX_LINGER_NS: u64 = 10_000_000_000;
/// Minimum time between two of these answers, ns; it starts at the sender's probe timeout and doubles.
const MIN_REPEAT_NS: u64 = 1_000_000;
/// Maximum time between them, ns.
const MAX_REPEAT_NS: u64 = 100_000_000;

/// What is to be sent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Due {
    /// An acknowledgement, now.
    pub(super) ack: bool,
    /// An answer to the FIN.
    pub(super) fin_ack: bool,
    /// An ABORT.
    pub(super) abort: Option<AbortCode>,
    /// The time at which an acknowledgement is sent at the latest, ns.
    pub(super) ack_ns: Option<u64>,
}

/// The receiving end of a session: batches of datagrams in, content in order and replies out.
#[derive(Debug)]
pub struct BlockReceiver {
    pub(super) config: TransferConfig,
    pub(super) budget: u64,
    pub(super) arrivals: Arrivals,
    pub(super) window: ReassemblyWindow,
    pub(super) due: Due,
    /// Data datagrams since the last acknowledgement.
    pub(super) unacked: u32,
    /// The credit of the last acknowledgement.
    pub(super) advertised: u64,
    pub(super) fin: Option<Fin>,
    pub(super) status: ReceiverStatus,
    pub(super) counts: ReceiverCounts,
    last_heard_ns: u64,
    /// The end of the repetitions of the last answer.
    linger_ns: u64,
    /// The next of them, and the time between it and the one after it.
    repeat_ns: u64,
    repeat_wait_ns: u64,
    /// Where acknowledgements are built.
    pub(super) ack: Ack,
    pub(super) reply: Vec<u8>,
}

impl BlockReceiver {
    /// A receiver that has received nothing yet. Memory is taken as blocks arrive, up to the window of `config` and a segment.
    #[must_use]
    pub fn new(config: &TransferConfig, budget: SocketBudget, now_ns: u64) -> Self {
        let (config, error) = config.checked();
        let status = error.map_or(ReceiverStatus::Receiving, ReceiverStatus::Failed);
        let blocks = config.content_blocks().unwrap_or(u64::MAX);
        let capacity = config.window_blocks().min(blocks);
        let mut receiver = Self {
            budget: budget.0,
            arrivals: Arrivals::new(config.first_pn),
            window: ReassemblyWindow::new(capacity, config.block_bytes()),
            due: Due::default(),
            unacked: 0,
            advertised: config.window_blocks(),
            fin: None,
            status,
            counts: ReceiverCounts::default(),
            last_heard_ns: now_ns,
            linger_ns: 0,
            repeat_ns: 0,
            repeat_wait_ns: 0,
            ack: Ack::default(),
            reply: Vec::new(),
            config,
        };
        // The window that both ends hold for granted may be larger than the content, or than this end could have.
        receiver.advertised = receiver.advertised.min(receiver.window.limit());
        receiver
    }

    /// Takes datagrams of `segment` bytes each, the last may be shorter.
    pub fn handle_datagrams(&mut self, now_ns: u64, data: &[u8], segment: usize, ecn: Ecn) {
        for datagram in data.chunks(segment.max(1)) {
            self.handle_datagram(now_ns, datagram, ecn);
        }
    }

    fn handle_datagram(&mut self, now_ns: u64, datagram: &[u8], ecn: Ecn) {
        if session_of(datagram) != Some(self.config.session) {
            self.counts.foreign += 1;
            return;
        }
        if kind_of(datagram) == Some(DATA_KIND) {
            self.on_data(now_ns, datagram, ecn);
        } else {
            match parse_control(datagram) {
                Some((kind, body)) => self.on_control(now_ns, kind, body),
                None => self.counts.damaged += 1,
            }
        }
    }

    #[inline]
    fn on_data(&mut self, now_ns: u64, datagram: &[u8], ecn: Ecn) {
        let Some((header, payload)) = parse_data(datagram) else {
            self.counts.damaged += 1;
            return;
        };
        self.last_heard_ns = now_ns;
        match self.status {
            ReceiverStatus::Receiving => {}
            // A late copy: the sender may not have the answer.
            ReceiverStatus::Verifying | ReceiverStatus::Lingering { .. } => {
                self.counts.received += 1;
                self.counts.duplicates += 1;
                self.due.fin_ack = true;
                return;
            }
            ReceiverStatus::Complete { .. } | ReceiverStatus::Failed(_) => return,
        }
        let block = u64::from(header.block);
        if !self.is_whole(block, payload.len() as u64) {
            self.fail(TransferError::Contradiction("the size of a block"));
            return;
        }
        self.counts.received += 1;
        self.counts.marked += u64::from(ecn == Ecn::Ce);
        let pn = self.arrivals.expand(header.pn);
        let is_accepted = match self.config.arq {
            Arq::Sack | Arq::NakBitmap => true,
            Arq::GoBackN | Arq::StopAndWait => block <= self.window.first_missing(),
        };
        // What is dropped is not acknowledged.
        let order = if is_accepted && self.store(block, payload) {
            self.arrivals.on_packet(now_ns, pn)
        } else {
            self.counts.out_of_order += u64::from(!is_accepted);
            self.due.ack = true;
            self.arrivals.see(now_ns, pn)
        };
        self.counts.reordered += u64::from(order == ArrivalOrder::Late);
        self.note_ack(now_ns, order, ecn);
    }

    /// Whether a block has the size that it must have, as far as that is known.
    #[inline]
    fn is_whole(&self, block: u64, bytes: u64) -> bool {
        let full = self.config.block_bytes();
        let total = self
            .config
            .total_bytes
            .or_else(|| self.fin.as_ref().map(|fin| fin.total));
        match total {
            Some(total) => {
                let from = self.config.start_bytes + block * full;
                total.saturating_sub(from).min(full) == bytes
            }
            None => self.window.can_be_of(block, bytes),
        }
    }

    /// Stores a block: whether this end has it now.
    #[inline]
    fn store(&mut self, block: u64, payload: &[u8]) -> bool {
        let fate = self.window.store(block, payload);
        match fate {
            BlockFate::Stored => self.counts.content_bytes += payload.len() as u64,
            BlockFate::Duplicate => self.counts.duplicates += 1,
            BlockFate::Beyond => self.counts.beyond_credit += 1,
        }
        fate != BlockFate::Beyond
    }

    /// Decides when the packet is acknowledged.
    #[inline]
    fn note_ack(&mut self, now_ns: u64, order: ArrivalOrder, ecn: Ecn) {
        self.unacked += 1;
        if self.unacked >= self.config.ack_packets || order != ArrivalOrder::Next || ecn == Ecn::Ce
        {
            self.due.ack = true;
        } else if self.due.ack_ns.is_none() {
            self.due.ack_ns = Some(now_ns.saturating_add(self.config.max_ack_delay_ns));
        }
        self.look_for_end();
    }

    fn on_control(&mut self, now_ns: u64, kind: ControlKind, body: &[u8]) {
        self.last_heard_ns = now_ns;
        match kind {
            ControlKind::Fin => self.on_fin(body),
            ControlKind::Ping => self.due.ack = true,
            ControlKind::Abort => {
                if !matches!(self.status, ReceiverStatus::Complete { .. }) {
                    self.status =
                        ReceiverStatus::Failed(TransferError::PeerAborted(AbortCode::read(body)));
                }
            }
            ControlKind::Close => {
                if let ReceiverStatus::Lingering { matches } = self.status {
                    self.status = ReceiverStatus::Complete { matches };
                }
            }
            _ => self.counts.foreign += 1,
        }
    }

    fn on_fin(&mut self, body: &[u8]) {
        let Some(fin) = Fin::read(body) else {
            self.counts.damaged += 1;
            return;
        };
        match (&self.fin, self.config.total_bytes) {
            (Some(first), _) if first.total != fin.total || first.digest != fin.digest => {
                self.fail(TransferError::Contradiction("the end of the content"));
                return;
            }
            (None, Some(total)) if total != fin.total => {
                self.fail(TransferError::Contradiction("the size of the content"));
                return;
            }
            _ => {}
        }
        if !self.config.can_number(fin.total) {
            self.fail(TransferError::TooManyBlocks);
            return;
        }
        let blocks = self.config.blocks_up_to(fin.total);
        if fin.total < self.config.start_bytes || self.window.end() > blocks {
            self.fail(TransferError::Contradiction("the size of the content"));
            return;
        }
        self.fin = Some(fin);
        match self.status {
            ReceiverStatus::Verifying | ReceiverStatus::Lingering { .. } => self.due.fin_ack = true,
            ReceiverStatus::Receiving => self.due.ack = true,
            _ => {}
        }
        self.look_for_end();
    }

    /// Everything has arrived once the FIN and every block have.
    #[inline]
    fn look_for_end(&mut self) {
        let Some(fin) = &self.fin else {
            return;
        };
        if self.status == ReceiverStatus::Receiving
            && self.window.first_missing() >= self.config.blocks_up_to(fin.total)
        {
            if self.config.start_bytes + self.counts.content_bytes != fin.total {
                self.fail(TransferError::Contradiction("the size of the content"));
                return;
            }
            self.status = ReceiverStatus::Verifying;
            self.due.fin_ack = true;
            self.due.ack = false;
            self.due.ack_ns = None;
        }
    }

    fn fail(&mut self, error: TransferError) {
        self.due.abort = Some(AbortCode::Protocol);
        self.status = ReceiverStatus::Failed(error);
    }

    /// Bytes of the content that are next in order.
    #[must_use]
    pub fn readable(&self) -> &[u8] {
        self.window.readable()
    }

    /// Whether waiting does not make what is readable longer: it ends where a segment of the window does.
    #[must_use]
    pub const fn is_run_complete(&self) -> bool {
        self.window.ends_with_segment()
    }

    /// A whole segment of the window, up to 1 MiB of the content that are next in order, with its memory; `None` when it is not whole or
    /// some of it was consumed. The window opens, and wants the memory back: [`Self::give_back`].
    #[must_use]
    pub fn take_segment(&mut self) -> Option<Vec<u8>> {
        let segment = self.window.take_segment()?;
        self.tell_opened();
        Some(segment)
    }

    /// Takes the memory of a segment back.
    pub fn give_back(&mut self, segment: Vec<u8>) {
        self.window.give_back(segment);
    }

    /// Nothing more has arrived for now: two packets or more are acknowledged at once (RFC 9000, section 13.2.2).
    pub const fn on_idle(&mut self) {
        // At the end the answer to the FIN has timers of its own.
        if self.unacked >= 2 && matches!(self.status, ReceiverStatus::Receiving) {
            self.due.ack = true;
        }
    }

    /// `bytes` of what was readable were taken: the window opens.
    pub fn consume(&mut self, bytes: usize) {
        self.window.take(bytes);
        self.tell_opened();
    }

    /// Has the sender informed when the window has opened far.
    fn tell_opened(&mut self) {
        let opened = self.window.limit().saturating_sub(self.advertised);
        // The sender that may have used up its credit is told soon.
        if opened >= self.config.window_blocks().div_ceil(4)
            && self.status == ReceiverStatus::Receiving
        {
            self.due.ack = true;
        }
    }

    /// When [`Self::handle_timeout`] is due, ns; `None` when the session has ended.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        match self.status {
            ReceiverStatus::Receiving => {
                let give_up = self.last_heard_ns.saturating_add(GIVE_UP_NS);
                Some(self.due.ack_ns.map_or(give_up, |ack| ack.min(give_up)))
            }
            ReceiverStatus::Lingering { .. } => Some(self.linger_ns.min(self.repeat_ns)),
            // The caller's digest is what takes time.
            ReceiverStatus::Verifying
            | ReceiverStatus::Complete { .. }
            | ReceiverStatus::Failed(_) => None,
        }
    }

    /// Acts on the timers that have expired.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        match self.status {
            ReceiverStatus::Receiving => {
                if now_ns >= self.last_heard_ns.saturating_add(GIVE_UP_NS) {
                    self.status = ReceiverStatus::Failed(TransferError::TimedOut);
                } else if self.due.ack_ns.is_some_and(|due| due <= now_ns) {
                    self.due.ack = true;
                }
            }
            ReceiverStatus::Lingering { matches } if now_ns >= self.linger_ns => {
                self.status = ReceiverStatus::Complete { matches };
            }
            ReceiverStatus::Lingering { .. } if now_ns >= self.repeat_ns => {
                self.due.fin_ack = true;
                self.repeat_ns = now_ns.saturating_add(self.repeat_wait_ns);
                self.repeat_wait_ns = (self.repeat_wait_ns * 2).min(MAX_REPEAT_NS);
            }
            _ => {}
        }
    }

    /// The sender's digest, once its FIN and every byte have arrived.
    #[must_use]
    pub fn claimed_digest(&self) -> Option<[u8; 32]> {
        match self.status {
            ReceiverStatus::Receiving | ReceiverStatus::Failed(_) => None,
            _ => self.fin.as_ref().map(|fin| fin.digest),
        }
    }

    /// Says at `now_ns` whether the digest is that of what was received. Nothing happens before everything has arrived.
    pub fn set_verified(&mut self, now_ns: u64, matches: bool) {
        if self.status == ReceiverStatus::Verifying {
            let pto_ns = self
                .fin
                .as_ref()
                .map_or(0, |fin| u64::from(fin.pto_us) * 1000);
            let linger_ns = (pto_ns * LINGER_PTOS).clamp(MIN_LINGER_NS, MAX_LINGER_NS);
            self.linger_ns = now_ns.saturating_add(linger_ns);
            self.repeat_wait_ns = pto_ns.clamp(MIN_REPEAT_NS, MAX_REPEAT_NS);
            self.repeat_ns = now_ns.saturating_add(self.repeat_wait_ns);
            self.status = ReceiverStatus::Lingering { matches };
            self.due.fin_ack = true;
        }
    }

    /// The state.
    #[must_use]
    pub const fn status(&self) -> ReceiverStatus {
        self.status
    }

    /// The counters.
    #[must_use]
    pub const fn counts(&self) -> ReceiverCounts {
        self.counts
    }

    /// The bytes of memory that it holds, apart from itself.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.window.memory_bytes()
            + self.arrivals.memory_bytes()
            + self.ack.ranges.capacity() * size_of::<std::ops::Range<u64>>()
            + self.ack.bitmap.capacity()
            + self.reply.capacity()
    }

    /// Ends the session: the next `poll_transmit` says so to the sender. Nothing happens to a session that has ended.
    pub fn abort(&mut self, code: AbortCode) {
        if matches!(
            self.status,
            ReceiverStatus::Receiving | ReceiverStatus::Verifying
        ) {
            self.due.abort = Some(code);
            self.status = ReceiverStatus::Failed(TransferError::Aborted(code));
        }
    }
}
