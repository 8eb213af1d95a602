//! What leaves next.

use super::sender::BlockSender;
use super::sent::{PacketState, SentBatch};
use super::status::{SenderStatus, Transmit};
use crate::config::{Arq, DATA_HEADER_BYTES, MAX_BLOCKS};
use crate::congestion::{CongestionController, SentPackets};
use crate::error::{AbortCode, TransferError};
use crate::source::BlockSource;
use crate::wire::{ControlKind, DataHeader, write_control, write_data_header};

impl BlockSender {
    /// Fills `out` with up to `max_datagrams` datagrams of equal size, the last of which may be shorter; `None` when nothing may leave now.
    /// `out` has room for one datagram at least; what does not fit waits.
    pub fn poll_transmit<S: BlockSource + ?Sized>(
        &mut self,
        now_ns: u64,
        source: &mut S,
        out: &mut [u8],
        max_datagrams: usize,
    ) -> Option<Transmit> {
        if let Some(kind) = self.ending.control.take() {
            if self.ending.closes > 0 {
                self.ending.closes -= 1;
                self.ending.control = Some(kind);
            }
            return self.transmit_control(now_ns, kind, out);
        }
        if !matches!(
            self.status,
            SenderStatus::Sending | SenderStatus::AwaitingFinAck
        ) {
            return None;
        }
        self.look_at(source);
        if !self.has_outstanding() {
            self.timing.last_progress = now_ns;
        }
        let probes = std::mem::take(&mut self.timing.probes);
        let fits = out.len() / self.segment as usize;
        let transmit = if probes > 0 {
            self.transmit_probes(now_ns, source, out, probes.min(fits))
        } else {
            let count = self.allowed(now_ns, max_datagrams.min(fits));
            self.transmit_data(now_ns, source, out, count, false)
        };
        transmit.or_else(|| self.transmit_fin(now_ns, out))
    }

    /// Takes over what the source knows by now, and gives back what is no longer needed.
    fn look_at<S: BlockSource + ?Sized>(&mut self, source: &mut S) {
        if self.ending.total.is_none() {
            self.ending.total = source.total();
            let total = self.ending.total;
            self.ending.blocks = total.map(|total| self.config.blocks_up_to(total));
        }
        let acked = self.acked_bytes();
        if acked > self.released {
            self.released = acked;
            source.release(acked);
        }
        let blocks = self.content_blocks().unwrap_or(0);
        if blocks > MAX_BLOCKS || self.blocks.next_new() >= MAX_BLOCKS {
            self.ending.abort = Some(AbortCode::Source);
            self.ending.control = Some(ControlKind::Abort);
            self.status = SenderStatus::Failed(TransferError::TooManyBlocks);
        }
    }

    /// The datagrams that window, budget, pacing and memory let leave now.
    fn allowed(&mut self, now_ns: u64, max_datagrams: usize) -> usize {
        let window = self.controller.window();
        let wire = u128::from(self.peak_rate) * u128::from(self.rtt.min_ns().unwrap_or_default())
            / 1_000_000_000;
        let budget = self
            .granted
            .budget
            .saturating_add(u64::try_from(wire).unwrap_or(u64::MAX));
        let limit = window.min(budget);
        let mut room = limit.saturating_sub(self.in_flight) / self.segment;
        if self.packets_in_flight == 0 {
            room = room.max(1);
        }
        if self.config.arq == Arq::StopAndWait {
            room = u64::from(self.packets_in_flight == 0);
        }
        if room == 0 {
            self.counts.blocked_by_window += 1;
            // Nothing but the window of congestion control grows by being used up.
            self.is_window_limited |= window <= budget;
            return 0;
        }
        let room = room.min(max_datagrams as u64);
        if !self.sent.has_room(room * 2) {
            return 0;
        }
        let wanted = room * self.segment;
        let rate = self.pacing_rate();
        let paced = self.pacer.allowance(now_ns, rate, wanted) / self.segment;
        if paced == 0 {
            self.timing.paced_until = self.pacer.next_ns(wanted).unwrap_or(0);
            self.is_window_limited = true;
            return 0;
        }
        self.timing.paced_until = 0;
        room.min(paced) as usize
    }

    /// Fills `out` with lost blocks first, then new ones.
    fn transmit_data<S: BlockSource + ?Sized>(
        &mut self,
        now_ns: u64,
        source: &mut S,
        out: &mut [u8],
        count: usize,
        is_probe: bool,
    ) -> Option<Transmit> {
        let mut used = 0;
        let mut datagrams = 0;
        while datagrams < count {
            let Some((block, is_repeated)) = self.next_block(source) else {
                if !is_probe {
                    self.on_nothing_to_send(source);
                }
                break;
            };
            if datagrams == 0 {
                self.begin_batch(now_ns);
            }
            let bytes = self.write_block(source, block, &mut out[used..]);
            used += bytes;
            datagrams += 1;
            self.counts.retransmitted += u64::from(is_repeated);
            if (bytes as u64) < self.segment {
                break;
            }
        }
        self.finish_batch(now_ns, used, datagrams)
    }

    /// Sends what asks for an answer after a probe timeout: lost or new blocks, else those in flight, else a PING.
    fn transmit_probes<S: BlockSource + ?Sized>(
        &mut self,
        now_ns: u64,
        source: &mut S,
        out: &mut [u8],
        probes: usize,
    ) -> Option<Transmit> {
        if self.config.arq != Arq::StopAndWait && self.config.arq != Arq::GoBackN {
            let sent = self.transmit_data(now_ns, source, out, probes, true);
            if sent.is_some() {
                return sent;
            }
        }
        let mut blocks = self.oldest_in_flight(probes);
        if probes > 1 && self.config.arq != Arq::StopAndWait {
            // The same block twice, where there is no other: one of two may arrive.
            blocks[1] = blocks[1].or(blocks[0]);
        }
        if blocks == [None, None] {
            self.cancel_copies();
            if self.ending.is_fin_sent {
                self.ending.is_fin_due = true;
                return None;
            }
            return self.transmit_control(now_ns, ControlKind::Ping, out);
        }
        self.begin_batch(now_ns);
        let mut used = 0;
        let mut datagrams = 0;
        for block in blocks.into_iter().flatten() {
            let bytes = self.write_block(source, block, &mut out[used..]);
            used += bytes;
            datagrams += 1;
            self.counts.retransmitted += 1;
            if (bytes as u64) < self.segment {
                break;
            }
        }
        self.finish_batch(now_ns, used, datagrams)
    }

    /// The blocks of the oldest packets in flight, at most two.
    fn oldest_in_flight(&self, max: usize) -> [Option<u64>; 2] {
        let mut blocks = [None; 2];
        let mut found = 0;
        for pn in self.loss.first_open.max(self.sent.oldest())..self.sent.next() {
            if found == max.min(2) {
                break;
            }
            let packet = self.sent.packet(pn);
            let block = u64::from(packet.block);
            if packet.state == PacketState::InFlight
                && self.blocks.is_missing(block)
                && blocks[0] != Some(block)
            {
                blocks[found] = Some(block);
                found += 1;
            }
        }
        blocks
    }

    /// The next block to be sent, and whether it was sent before; `None` when credit or content is used up.
    #[inline]
    fn next_block<S: BlockSource + ?Sized>(&mut self, source: &S) -> Option<(u64, bool)> {
        if let Some(block) = self.blocks.take_lost() {
            return Some((block, true));
        }
        let block = self.blocks.next_new();
        if self.content_blocks().is_some_and(|blocks| block >= blocks) {
            return None;
        }
        if block >= self.granted.credit {
            self.counts.blocked_by_credit += 1;
            return None;
        }
        let end =
            self.config.start_bytes + block * self.config.block_bytes() + self.payload_bytes(block);
        if end > source.available() {
            return None;
        }
        let is_repeated = block < self.blocks.sent_end();
        Some((self.blocks.take_new(), is_repeated))
    }

    /// The window is not used up: content, credit or the end of the file hold the sender back.
    fn on_nothing_to_send<S: BlockSource + ?Sized>(&mut self, _source: &S) {
        self.delivery.on_app_limited(self.in_flight);
        let is_all_sent = self.content_blocks() == Some(self.blocks.next_new());
        if is_all_sent && !self.ending.is_fin_sent {
            self.ending.is_fin_due = true;
        }
    }

    fn begin_batch(&mut self, now_ns: u64) {
        let stamp = self.delivery.on_sent(now_ns, self.in_flight);
        self.sent.begin_batch(SentBatch {
            sent_ns: now_ns,
            stamp,
        });
    }

    /// Writes a datagram with a block, which is in flight from now on: its bytes.
    #[inline]
    fn write_block<S: BlockSource + ?Sized>(
        &mut self,
        source: &mut S,
        block: u64,
        out: &mut [u8],
    ) -> usize {
        if self.sent.next() >= self.next_skip {
            self.sent.push(0, PacketState::Skipped);
            self.next_skip = self.sent.next() + 256 + self.rng.below(1024);
        }
        let payload = self.payload_bytes(block);
        let bytes = DATA_HEADER_BYTES + payload as usize;
        let datagram = &mut out[..bytes];
        let offset = self.config.start_bytes + block * self.config.block_bytes();
        source.read(offset, &mut datagram[DATA_HEADER_BYTES..]);
        let pn = self.sent.push(block as u32, PacketState::InFlight);
        let header = DataHeader {
            session: self.config.session,
            pn: pn as u32,
            block: block as u32,
        };
        write_data_header(datagram, header);
        bytes
    }

    fn finish_batch(&mut self, now_ns: u64, used: usize, datagrams: usize) -> Option<Transmit> {
        if datagrams == 0 {
            return None;
        }
        let bytes = used as u64;
        self.controller.on_sent(&SentPackets {
            now_ns,
            bytes,
            in_flight: self.in_flight,
        });
        self.in_flight += bytes;
        self.packets_in_flight += datagrams as u64;
        self.pacer.on_sent(bytes);
        self.timing.last_sent = now_ns;
        self.counts.sent += datagrams as u64;
        self.counts.sent_bytes += bytes;
        Some(Transmit {
            bytes: used,
            segment: used.min(self.segment as usize),
            datagrams,
        })
    }

    /// Sends the FIN when it is due.
    fn transmit_fin(&mut self, now_ns: u64, out: &mut [u8]) -> Option<Transmit> {
        let is_all_sent = self.content_blocks() == Some(self.blocks.next_new());
        let is_first = is_all_sent && !self.ending.is_fin_sent;
        if !(self.ending.is_fin_due || is_first) {
            return None;
        }
        let fin = self.fin()?;
        self.ending.is_fin_due = false;
        self.ending.is_fin_sent = true;
        write_control(
            &mut self.control,
            ControlKind::Fin,
            self.config.session,
            |body| fin.write(body),
        );
        self.copy_control(now_ns, out)
    }

    /// Sends a PING, an ABORT or a CLOSE.
    fn transmit_control(
        &mut self,
        now_ns: u64,
        kind: ControlKind,
        out: &mut [u8],
    ) -> Option<Transmit> {
        let code = self.ending.abort.unwrap_or(AbortCode::Stopped);
        write_control(&mut self.control, kind, self.config.session, |body| {
            if kind == ControlKind::Abort {
                code.write(body);
            }
        });
        self.timing.is_pinging |= kind == ControlKind::Ping;
        self.copy_control(now_ns, out)
    }

    fn copy_control(&mut self, now_ns: u64, out: &mut [u8]) -> Option<Transmit> {
        let bytes = self.control.len();
        out.get_mut(..bytes)?.copy_from_slice(&self.control);
        self.timing.last_sent = now_ns;
        self.counts.control_sent += 1;
        Some(Transmit {
            bytes,
            segment: bytes,
            datagrams: 1,
        })
    }
}
