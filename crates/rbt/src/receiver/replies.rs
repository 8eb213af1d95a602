//! What a receiver sends.

use super::receiver::BlockReceiver;
use super::status::ReceiverStatus;
use crate::config::Arq;
use crate::wire::{
    ControlKind, FinAck, FinAckState, MAX_ACK_RANGES, MAX_BITMAP_BYTES, write_control,
};

impl BlockReceiver {
    /// The next datagram for the sender; its length. `None` when nothing is to be sent. `out` has room for 600 bytes; a datagram that
    /// does not fit is not sent.
    pub fn poll_transmit(&mut self, now_ns: u64, out: &mut [u8]) -> Option<usize> {
        self.build_reply(now_ns)?;
        let bytes = self.reply.len();
        out.get_mut(..bytes)?.copy_from_slice(&self.reply);
        Some(bytes)
    }

    fn build_reply(&mut self, now_ns: u64) -> Option<()> {
        let session = self.config.session;
        if let Some(code) = self.due.abort.take() {
            write_control(&mut self.reply, ControlKind::Abort, session, |body| {
                code.write(body);
            });
            return Some(());
        }
        let state = match self.status {
            ReceiverStatus::Receiving => None,
            ReceiverStatus::Verifying => Some(FinAckState::Verifying),
            ReceiverStatus::Lingering { matches: true } => Some(FinAckState::Equal),
            ReceiverStatus::Lingering { matches: false } => Some(FinAckState::Different),
            ReceiverStatus::Complete { .. } | ReceiverStatus::Failed(_) => return None,
        };
        if let Some(state) = state {
            if !std::mem::take(&mut self.due.fin_ack) && !std::mem::take(&mut self.due.ack) {
                return None;
            }
            write_control(&mut self.reply, ControlKind::FinAck, session, |body| {
                FinAck(state).write(body);
            });
            return Some(());
        }
        if !self.due.ack {
            return None;
        }
        self.fill_ack(now_ns);
        let ack = &self.ack;
        write_control(&mut self.reply, ControlKind::Ack, session, |body| {
            ack.write(body);
        });
        self.counts.acks_sent += 1;
        Some(())
    }

    /// Fills in the acknowledgement, and restarts the decision about the next one.
    fn fill_ack(&mut self, now_ns: u64) {
        self.due.ack = false;
        self.due.ack_ns = None;
        self.unacked = 0;
        self.advertised = self.window.limit();
        let (largest, age_ns) = self.arrivals.largest(now_ns).unwrap_or_default();
        let ack = &mut self.ack;
        ack.largest = largest;
        ack.delay_us = u32::try_from(age_ns / 1000).unwrap_or(u32::MAX);
        ack.first_missing = self.window.first_missing();
        ack.credit = self.advertised;
        ack.budget = self.budget;
        ack.received = self.counts.received;
        ack.duplicates = self.counts.duplicates;
        ack.dropped = self.counts.beyond_credit + self.counts.out_of_order;
        ack.damaged = self.counts.damaged;
        ack.marked = self.counts.marked;
        ack.ranges.clear();
        ack.bitmap.clear();
        match self.config.arq {
            Arq::Sack => ack
                .ranges
                .extend(self.arrivals.ranges().take(MAX_ACK_RANGES).cloned()),
            Arq::NakBitmap => self.fill_bitmap(),
            Arq::GoBackN | Arq::StopAndWait => {}
        }
    }

    /// Fills in which blocks from the first missing one on have arrived.
    fn fill_bitmap(&mut self) {
        let first = self.window.first_missing();
        let blocks = self.window.end().saturating_sub(first);
        let bytes = (blocks.div_ceil(8) as usize).min(MAX_BITMAP_BYTES);
        for at in 0..bytes as u64 {
            let byte = (0..8).fold(0, |byte, bit| {
                let has = self.window.has(first + at * 8 + bit);
                byte | (u8::from(has) << bit)
            });
            self.ack.bitmap.push(byte);
        }
    }
}
