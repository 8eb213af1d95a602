//! What happens when nothing arrives.

use super::sender::BlockSender;
use super::status::SenderStatus;
use crate::error::{AbortCode, TransferError};
use crate::wire::ControlKind;

/// Maximum time without any answer before the receiver counts as gone, and without progress before the content does, ns.
pub(crate) const GIVE_UP_NS: u64 = 30_000_000_000;
/// Idle time before a sender without content asks for an answer, ns.
const KEEP_ALIVE_NS: u64 = 5_000_000_000;
/// Maximum time between probes, ns.
const MAX_PTO_NS: u64 = 4_000_000_000;
/// Probes after a probe timeout (RFC 9002, section 6.2.4).
const PROBES: usize = 2;

impl BlockSender {
    /// When [`Self::handle_timeout`] is due, or pacing lets the next datagram leave, ns; `None` when the session has ended.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        if !self.is_open() {
            return None;
        }
        let mut due = self.give_up_ns().min(self.probe_due());
        if let Some(loss) = self.loss.due_ns {
            due = due.min(loss);
        }
        if self.timing.paced_until > 0 {
            due = due.min(self.timing.paced_until);
        }
        Some(due)
    }

    /// Acts on the timers that have expired.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        if !self.is_open() {
            return;
        }
        if self.timing.paced_until <= now_ns {
            self.timing.paced_until = 0;
        }
        if now_ns >= self.give_up_ns() {
            self.give_up(now_ns);
            return;
        }
        if self.loss.due_ns.is_some_and(|due| due <= now_ns) {
            self.on_loss_timer(now_ns);
        }
        if now_ns >= self.probe_due() {
            self.on_probe_timeout(now_ns);
        }
    }

    /// When this end gives up unless something arrives.
    fn give_up_ns(&self) -> u64 {
        let mut since = self.timing.last_heard;
        if self.has_outstanding() {
            since = since.min(self.timing.last_progress);
        }
        since.saturating_add(GIVE_UP_NS)
    }

    /// Whether the receiver lacks something that it would take.
    pub(super) fn has_outstanding(&self) -> bool {
        let first_missing = self.blocks.first_missing();
        !self.ending.is_received
            && (first_missing < self.blocks.sent_end() || self.ending.is_fin_sent)
    }

    fn give_up(&mut self, now_ns: u64) {
        let is_silent = now_ns >= self.timing.last_heard.saturating_add(GIVE_UP_NS);
        self.status = SenderStatus::Failed(if is_silent {
            TransferError::TimedOut
        } else {
            self.ending.abort = Some(AbortCode::TimedOut);
            self.ending.control = Some(ControlKind::Abort);
            TransferError::Stalled
        });
    }

    const fn is_open(&self) -> bool {
        matches!(
            self.status,
            SenderStatus::Sending | SenderStatus::AwaitingFinAck
        )
    }

    /// When the receiver is asked for an answer.
    fn probe_due(&self) -> u64 {
        let is_blocked = self.blocks.next_new() >= self.granted.credit;
        let awaits = self.packets_in_flight > 0
            || self.ending.is_fin_sent
            || self.timing.is_pinging
            || is_blocked;
        let wait = if awaits {
            self.probe_timeout()
                .saturating_mul(1 << self.timing.ptos.min(16))
                .min(MAX_PTO_NS.max(self.probe_timeout()))
        } else {
            KEEP_ALIVE_NS
        };
        self.timing.last_sent.saturating_add(wait)
    }

    fn on_probe_timeout(&mut self, now_ns: u64) {
        // A probe that cannot leave at once must not be asked for at every poll.
        self.timing.last_sent = now_ns;
        if self.packets_in_flight > 0 {
            self.timing.ptos += 1;
            self.counts.ptos += 1;
            self.timing.probes = PROBES;
        } else if self.ending.is_fin_sent {
            self.timing.ptos += 1;
            self.ending.is_fin_due = true;
        } else {
            self.timing.ptos += u32::from(self.timing.is_pinging);
            self.ending.control = Some(ControlKind::Ping);
        }
    }
}
