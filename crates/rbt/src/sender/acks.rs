//! What an acknowledgement changes.

use super::sender::BlockSender;
use super::sent::{PacketState, SentPacket};
use super::status::SenderStatus;
use crate::config::{Arq, DATA_HEADER_BYTES, MAX_WINDOW_BLOCKS};
use crate::congestion::{AckedPackets, CongestionController, LostPackets};
use crate::error::TransferError;
use crate::wire::Ack;
use std::ops::Range;

/// The round-trip time before there is a sample, ns (kInitialRtt of RFC 9002).
const INITIAL_RTT_NS: u64 = 333_000_000;

/// The newest packet of an acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Newest {
    pn: u64,
    sent_ns: u64,
}

/// What an acknowledgement newly acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct NewlyAcked {
    bytes: u64,
    newest: Option<Newest>,
    /// `true` when a block is among it that was not known to have arrived.
    has_new_block: bool,
}

/// What was newly declared lost.
#[derive(Debug, Clone, Copy, Default)]
struct NewlyLost {
    packets: u64,
    bytes: u64,
    first_pn: u64,
    newest: Option<Newest>,
    is_persistent: bool,
}

impl BlockSender {
    /// Takes the body of an ACK.
    pub(super) fn on_ack(&mut self, now_ns: u64, body: &[u8]) -> Result<(), TransferError> {
        let mut ack = std::mem::take(&mut self.ack);
        let outcome = match ack.read(body) {
            Some(()) => self.apply(now_ns, &ack),
            None => {
                self.counts.ignored += 1;
                Ok(())
            }
        };
        self.ack = ack;
        outcome
    }

    fn apply(&mut self, now_ns: u64, ack: &Ack) -> Result<(), TransferError> {
        self.counts.acks += 1;
        if self.ending.is_received {
            // It was overtaken by the answer to the FIN.
            return Ok(());
        }
        self.check_blocks(ack)?;
        // What is older than something heard before says nothing about now: if only such arrives, the receiver has lost its memory.
        let is_current = ack.received >= self.counts.peer_received;
        if is_current {
            self.timing.last_heard = now_ns;
            self.timing.is_pinging = false;
        }
        self.take_grants(ack);
        // Before the first packet has arrived there is no largest one.
        let mut newly = NewlyAcked::default();
        let in_flight_before = self.in_flight;
        if ack.received > 0 {
            self.check_largest(ack.largest)?;
            if self.acknowledges_blocks() {
                self.settle_blocks(now_ns, ack, &mut newly);
            } else {
                self.settle_ranges(now_ns, ack, &mut newly)?;
            }
            self.loss.largest_acked = self.loss.largest_acked.max(Some(ack.largest));
        }
        if is_current && self.blocks.has_arrived(ack.first_missing) {
            return Err(TransferError::Contradiction("the blocks that arrived"));
        }
        if self.blocks.advance(ack.first_missing) || newly.has_new_block {
            self.timing.last_progress = now_ns;
        }
        self.sample_rtt(now_ns, ack, newly);
        if newly.bytes > 0 {
            self.timing.ptos = 0;
        }
        self.detect_lost(now_ns, &mut newly);
        self.tell_controller(now_ns, ack, newly, in_flight_before);
        self.forget_settled(now_ns);
        if self.status == SenderStatus::Sending
            && self.content_blocks() == Some(self.blocks.first_missing())
        {
            self.status = SenderStatus::AwaitingFinAck;
            if self.ending.is_fin_sent && !self.ending.is_received {
                // The receiver that has every byte and the FIN answers by itself.
                self.timing.last_sent = self.timing.last_sent.max(now_ns);
            }
        }
        Ok(())
    }

    /// Blocks that were never sent have not arrived, and those that have arrived stay.
    fn check_blocks(&self, ack: &Ack) -> Result<(), TransferError> {
        let is_newer = ack.received > 0 && self.loss.largest_acked < Some(ack.largest);
        let is_taken_back = is_newer && ack.first_missing < self.blocks.first_missing();
        if ack.first_missing > self.blocks.sent_end() || is_taken_back {
            return Err(TransferError::Contradiction("the blocks that arrived"));
        }
        Ok(())
    }

    /// Takes what the receiver grants and counts. Nothing of it shrinks but the buffer.
    fn take_grants(&mut self, ack: &Ack) {
        let max_credit = ack.first_missing.saturating_add(MAX_WINDOW_BLOCKS);
        self.granted.credit = self.granted.credit.max(ack.credit.min(max_credit));
        self.granted.budget = ack.budget.max(self.segment);
        let counts = &mut self.counts;
        counts.peer_received = counts.peer_received.max(ack.received);
        counts.peer_duplicates = counts.peer_duplicates.max(ack.duplicates);
        counts.peer_damaged = counts.peer_damaged.max(ack.damaged);
        counts.peer_dropped = counts.peer_dropped.max(ack.dropped);
        counts.marked = counts.marked.max(ack.marked);
    }

    /// An acknowledgement of a packet that was never sent ends the session.
    fn check_largest(&self, largest: u64) -> Result<(), TransferError> {
        let is_skipped = largest >= self.sent.oldest()
            && largest < self.sent.next()
            && self.sent.packet(largest).state == PacketState::Skipped;
        if largest >= self.sent.next() || largest < self.config.first_pn || is_skipped {
            return Err(TransferError::UnsentAcknowledged);
        }
        Ok(())
    }

    /// Settles the packets of the ranges that were not acknowledged before.
    fn settle_ranges(
        &mut self,
        now_ns: u64,
        ack: &Ack,
        newly: &mut NewlyAcked,
    ) -> Result<(), TransferError> {
        let mut added = std::mem::take(&mut self.added);
        added.clear();
        let oldest = self.sent.oldest();
        for range in &ack.ranges {
            if range.end > oldest {
                self.acked
                    .insert(&(range.start.max(oldest)..range.end), &mut added);
            }
        }
        let mut outcome = Ok(());
        for range in &added {
            outcome = self.settle_range(now_ns, range, newly);
            if outcome.is_err() {
                break;
            }
        }
        self.added = added;
        outcome
    }

    /// Settles packets with numbers in a row: what those of a batch have in common is looked at once.
    fn settle_range(
        &mut self,
        now_ns: u64,
        range: &Range<u64>,
        newly: &mut NewlyAcked,
    ) -> Result<(), TransferError> {
        let mut pn = range.start;
        while pn < range.end {
            let packet = self.sent.packet(pn);
            match packet.state {
                PacketState::InFlight => pn = self.settle_run(now_ns, pn..range.end, newly),
                PacketState::Skipped => return Err(TransferError::UnsentAcknowledged),
                PacketState::Lost | PacketState::Settled => {
                    self.settle(now_ns, pn, newly);
                    pn += 1;
                }
            }
        }
        Ok(())
    }

    /// Settles the packets in flight at the beginning of a range that left with the same batch: the number of the next one.
    #[inline]
    fn settle_run(&mut self, now_ns: u64, range: Range<u64>, newly: &mut NewlyAcked) -> u64 {
        let first = self.sent.packet(range.start);
        let mut pn = range.start;
        let mut bytes = 0;
        while pn < range.end {
            let packet = self.sent.packet(pn);
            if packet.state != PacketState::InFlight || !packet.left_with(first) {
                break;
            }
            let block = u64::from(packet.block);
            bytes += self.payload_bytes(block) + DATA_HEADER_BYTES as u64;
            newly.has_new_block |= self.blocks.on_arrived(block);
            self.sent.set_state(pn, PacketState::Settled);
            pn += 1;
        }
        self.count_settled(now_ns, first, pn - range.start, bytes, pn - 1, newly);
        pn
    }

    /// Counts packets of one batch that are no longer in flight, the newest of which is `newest_pn`.
    #[inline]
    fn count_settled(
        &mut self,
        now_ns: u64,
        packet: SentPacket,
        packets: u64,
        bytes: u64,
        newest_pn: u64,
        newly: &mut NewlyAcked,
    ) {
        let batch = self.sent.batch(packet);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.packets_in_flight = self.packets_in_flight.saturating_sub(packets);
        newly.bytes += bytes;
        self.delivery
            .on_acked(now_ns, bytes, batch.sent_ns, &batch.stamp);
        if newly.newest.is_none_or(|newest| newest_pn > newest.pn) {
            newly.newest = Some(Newest {
                pn: newest_pn,
                sent_ns: batch.sent_ns,
            });
        }
    }

    /// Settles the packets whose blocks have arrived (the modes that acknowledge blocks).
    fn settle_blocks(&mut self, now_ns: u64, ack: &Ack, newly: &mut NewlyAcked) {
        let mut pn = self.loss.first_open.max(self.sent.oldest());
        while pn <= ack.largest {
            let packet = self.sent.packet(pn);
            if packet.state == PacketState::InFlight {
                match ack.has_block(u64::from(packet.block)) {
                    Some(true) => self.settle(now_ns, pn, newly),
                    Some(false) => {}
                    // Beyond the bitmap, as are all that follow in order.
                    None => break,
                }
            }
            pn += 1;
        }
    }

    /// A packet, which is remembered and was sent, has arrived.
    #[inline]
    fn settle(&mut self, now_ns: u64, pn: u64, newly: &mut NewlyAcked) {
        let packet = self.sent.packet(pn);
        let block = u64::from(packet.block);
        match packet.state {
            PacketState::InFlight => {
                let bytes = self.payload_bytes(block) + DATA_HEADER_BYTES as u64;
                self.count_settled(now_ns, packet, 1, bytes, pn, newly);
            }
            PacketState::Lost => {
                self.counts.spurious += 1;
                let age_ns = now_ns.saturating_sub(self.sent.batch(packet).sent_ns);
                if self.loss.on_spurious(pn, age_ns, self.longest_rtt()) {
                    self.counts.undone += 1;
                    self.controller.on_spurious_loss(now_ns);
                }
            }
            PacketState::Settled | PacketState::Skipped => {}
        }
        newly.has_new_block |= self.blocks.on_arrived(block);
        self.sent.set_state(pn, PacketState::Settled);
    }

    /// A sample of the round-trip time, when the highest packet was newly acknowledged.
    fn sample_rtt(&mut self, now_ns: u64, ack: &Ack, newly: NewlyAcked) {
        if let Some(newest) = newly.newest
            && newest.pn == ack.largest
        {
            let delay_ns = u64::from(ack.delay_us) * 1000;
            self.rtt.add_sample(
                now_ns.saturating_sub(newest.sent_ns),
                delay_ns.min(self.config.max_ack_delay_ns),
            );
        }
    }

    /// Declares packets lost, and settles those whose blocks have arrived otherwise.
    fn detect_lost(&mut self, now_ns: u64, newly: &mut NewlyAcked) {
        self.loss.due_ns = None;
        let Some(largest) = self.loss.largest_acked else {
            return;
        };
        let delay_ns = self
            .loss
            .delay(self.longest_rtt(), self.config.granularity_ns);
        let mut lost = NewlyLost::default();
        let mut pn = self.loss.first_open.max(self.sent.oldest());
        let end = (largest + 1).min(self.sent.next());
        while pn < end {
            let packet = self.sent.packet(pn);
            match packet.state {
                PacketState::InFlight if !self.blocks.is_missing(u64::from(packet.block)) => {
                    self.settle(now_ns, pn, newly);
                }
                PacketState::InFlight => {
                    let sent_ns = self.sent.batch(packet).sent_ns;
                    let due_ns = sent_ns.saturating_add(delay_ns);
                    if largest < pn + self.loss.packet_threshold && due_ns > now_ns {
                        self.loss.due_ns = Some(due_ns);
                        break;
                    }
                    self.lose(pn, sent_ns, &mut lost);
                }
                PacketState::Settled => self.loss.end_run(),
                PacketState::Lost | PacketState::Skipped => {}
            }
            pn += 1;
        }
        self.loss.first_open = pn;
        self.react_to_loss(now_ns, lost);
    }

    /// Declares one packet lost.
    fn lose(&mut self, pn: u64, sent_ns: u64, lost: &mut NewlyLost) {
        let block = u64::from(self.sent.packet(pn).block);
        let bytes = self.payload_bytes(block) + DATA_HEADER_BYTES as u64;
        self.sent.set_state(pn, PacketState::Lost);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.packets_in_flight = self.packets_in_flight.saturating_sub(1);
        self.counts.lost += 1;
        if lost.packets == 0 {
            lost.first_pn = pn;
        }
        lost.packets += 1;
        lost.bytes += bytes;
        lost.newest = Some(Newest { pn, sent_ns });
        let lasted_ns = self.loss.extend_run(sent_ns);
        lost.is_persistent |=
            self.rtt.latest_ns().is_some() && lasted_ns > self.probe_timeout().saturating_mul(3);
        if self.config.arq == Arq::GoBackN {
            self.blocks.rewind(block);
            self.cancel_in_flight();
        } else {
            self.blocks.on_lost(block);
        }
    }

    /// Nothing depends on the packets in flight any more: every block will be sent again (go-back-n), or all have arrived.
    pub(super) fn cancel_in_flight(&mut self) {
        for pn in self.loss.first_open.max(self.sent.oldest())..self.sent.next() {
            if self.sent.packet(pn).state == PacketState::InFlight {
                self.sent.set_state(pn, PacketState::Settled);
            }
        }
        self.in_flight = 0;
        self.packets_in_flight = 0;
    }

    /// No longer counts packets in flight whose blocks have arrived with others: copies that were lost, or will not be reported.
    pub(super) fn cancel_copies(&mut self) {
        for pn in self.loss.first_open.max(self.sent.oldest())..self.sent.next() {
            let packet = self.sent.packet(pn);
            let block = u64::from(packet.block);
            if packet.state == PacketState::InFlight && !self.blocks.is_missing(block) {
                self.sent.set_state(pn, PacketState::Settled);
                let bytes = self.payload_bytes(block) + DATA_HEADER_BYTES as u64;
                self.in_flight = self.in_flight.saturating_sub(bytes);
                self.packets_in_flight = self.packets_in_flight.saturating_sub(1);
            }
        }
    }

    /// The longer of the smoothed and the latest round-trip time, ns.
    fn longest_rtt(&self) -> u64 {
        self.rtt
            .smoothed_ns()
            .max(self.rtt.latest_ns())
            .unwrap_or(INITIAL_RTT_NS)
    }

    fn react_to_loss(&mut self, now_ns: u64, lost: NewlyLost) {
        let Some(newest) = lost.newest else {
            return;
        };
        self.loss
            .on_lost(lost.first_pn, newest.pn, lost.packets, self.sent.next());
        if lost.is_persistent {
            self.counts.persistent += 1;
            self.loss.end_run();
        }
        self.controller.on_lost(&LostPackets {
            now_ns,
            bytes: lost.bytes,
            newest_sent_ns: newest.sent_ns,
            newest_pn: newest.pn,
            in_flight: self.in_flight,
            is_persistent: lost.is_persistent,
        });
    }

    fn tell_controller(
        &mut self,
        now_ns: u64,
        ack: &Ack,
        newly: NewlyAcked,
        in_flight_before: u64,
    ) {
        let marked = ack.marked.saturating_sub(self.granted.marked);
        self.granted.marked = self.granted.marked.max(ack.marked);
        let Some(newest) = newly.newest else {
            return;
        };
        let rate = self.delivery.sample(self.rtt.min_ns().unwrap_or_default());
        if let Some(sample) = rate {
            // A maximum that fades over some tens of acknowledgements.
            self.peak_rate = sample.bytes_per_s.max(self.peak_rate - self.peak_rate / 64);
        }
        let is_growing = self.controller.is_slow_start()
            && in_flight_before.saturating_mul(2) >= self.controller.window();
        self.controller.on_acked(&AckedPackets {
            now_ns,
            bytes: newly.bytes,
            newest_sent_ns: newest.sent_ns,
            newest_pn: newest.pn,
            next_pn: self.sent.next(),
            rtt_ns: (newest.pn == ack.largest)
                .then(|| self.rtt.latest_ns())
                .flatten(),
            smoothed_rtt_ns: self.rtt.smoothed_ns().unwrap_or(INITIAL_RTT_NS),
            min_rtt_ns: self.rtt.min_ns().unwrap_or_default(),
            in_flight: self.in_flight,
            rate,
            is_window_limited: self.is_window_limited || is_growing,
            marked,
        });
        self.is_window_limited = false;
    }

    /// Acts on the timer of loss detection.
    pub(super) fn on_loss_timer(&mut self, now_ns: u64) {
        let mut newly = NewlyAcked::default();
        self.detect_lost(now_ns, &mut newly);
    }

    /// Forgets the oldest packets, lost ones only after they might have arrived after all.
    fn forget_settled(&mut self, now_ns: u64) {
        let keep_ns = self.longest_rtt().saturating_mul(4);
        let is_crowded = !self.sent.has_room(super::sent::MAX_REMEMBERED / 2);
        while self.sent.oldest() < self.loss.first_open {
            let packet = self.sent.packet(self.sent.oldest());
            let is_recent = packet.state == PacketState::Lost
                && self.sent.batch(packet).sent_ns.saturating_add(keep_ns) > now_ns;
            if is_recent && !is_crowded {
                break;
            }
            self.sent.forget_oldest();
        }
        self.acked.remove_below(self.sent.oldest());
    }
}
