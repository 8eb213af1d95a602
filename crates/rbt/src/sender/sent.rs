//! What was sent and is not forgotten yet.

use crate::congestion::RateStamp;

/// Initial capacity of the ring; it doubles on demand.
const FIRST_CAPACITY: usize = 1 << 12;
/// Maximum number of packets remembered.
pub(super) const MAX_REMEMBERED: u64 = 1 << 17;

/// What has become of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketState {
    /// It is under way.
    InFlight,
    /// It was declared lost.
    Lost,
    /// It was acknowledged, or nothing depends on it any more.
    Settled,
    /// Its number was never sent.
    Skipped,
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentPacket {
    /// The block it carries.
    pub(super) block: u32,
    /// The batch it left with.
    batch: u32,
    /// What has become of it.
    pub(super) state: PacketState,
}

impl SentPacket {
    /// Whether it left with the same batch as another.
    #[inline]
    pub(super) const fn left_with(self, other: Self) -> bool {
        self.batch == other.batch
    }
}

/// What the packets of one batch have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentBatch {
    /// Their departure, ns.
    pub(super) sent_ns: u64,
    /// For the delivery rate.
    pub(super) stamp: RateStamp,
}

/// Packets by number: those from [`Self::oldest`] to below [`Self::next`].
#[derive(Debug)]
pub(super) struct SentRing {
    packets: Vec<SentPacket>,
    batches: Vec<SentBatch>,
    oldest: u64,
    next: u64,
    next_batch: u32,
}

impl SentRing {
    /// Without a packet; the first will have the number `first_pn`.
    pub(super) fn new(first_pn: u64) -> Self {
        Self {
            packets: Vec::new(),
            batches: Vec::new(),
            oldest: first_pn,
            next: first_pn,
            next_batch: 0,
        }
    }

    /// The bytes of memory that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&self.packets[..]) + size_of_val(&self.batches[..])
    }

    /// The lowest number that is remembered.
    pub(super) const fn oldest(&self) -> u64 {
        self.oldest
    }

    /// The number of the next packet.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether `count` more packets can be remembered.
    pub(super) const fn has_room(&self, count: u64) -> bool {
        self.next - self.oldest + count <= MAX_REMEMBERED
    }

    /// Begins a batch: the packets that follow left with it.
    pub(super) fn begin_batch(&mut self, batch: SentBatch) {
        if self.batches.is_empty() {
            self.grow(batch);
        }
        self.next_batch = self.next_batch.wrapping_add(1);
        let index = self.next_batch as usize & (self.batches.len() - 1);
        self.batches[index] = batch;
    }

    /// Adds the next packet, which there is room for: its number.
    #[inline]
    pub(super) fn push(&mut self, block: u32, state: PacketState) -> u64 {
        let pn = self.next;
        if (pn - self.oldest) as usize >= self.packets.len() {
            let batch = self.batches[self.next_batch as usize & (self.batches.len() - 1)];
            self.grow(batch);
        }
        let index = pn as usize & (self.packets.len() - 1);
        self.packets[index] = SentPacket {
            block,
            batch: self.next_batch,
            state,
        };
        self.next += 1;
        pn
    }

    /// The packet of a number that is remembered.
    #[inline]
    pub(super) fn packet(&self, pn: u64) -> SentPacket {
        self.packets[pn as usize & (self.packets.len() - 1)]
    }

    /// Sets what has become of a packet that is remembered.
    #[inline]
    pub(super) fn set_state(&mut self, pn: u64, state: PacketState) {
        let mask = self.packets.len() - 1;
        self.packets[pn as usize & mask].state = state;
    }

    /// The batch of a packet that is remembered.
    #[inline]
    pub(super) fn batch(&self, packet: SentPacket) -> SentBatch {
        self.batches[packet.batch as usize & (self.batches.len() - 1)]
    }

    /// Forgets the oldest packet.
    pub(super) const fn forget_oldest(&mut self) {
        self.oldest += 1;
    }

    /// Doubles the capacity. Every batch has a packet, so that as many batches as packets suffice.
    fn grow(&mut self, batch: SentBatch) {
        let old = self.packets.len();
        let new = (old * 2).max(FIRST_CAPACITY);
        let none = SentPacket {
            block: 0,
            batch: 0,
            state: PacketState::Settled,
        };
        let mut packets = vec![none; new];
        // One more than packets: a batch is begun before its first packet is added.
        let mut batches = vec![batch; new * 2];
        for pn in self.oldest..self.next {
            let packet = self.packets[pn as usize & (old - 1)];
            packets[pn as usize & (new - 1)] = packet;
            let index = packet.batch as usize;
            batches[index & (new * 2 - 1)] = self.batches[index & (self.batches.len() - 1)];
        }
        batches[self.next_batch as usize & (new * 2 - 1)] = batch;
        (self.packets, self.batches) = (packets, batches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_batches_while_the_ring_grows_and_moves() {
        let mut ring = SentRing::new(u64::from(u32::MAX) - 5000);
        for batch in 0..4000_u64 {
            ring.begin_batch(SentBatch {
                sent_ns: batch,
                stamp: RateStamp::default(),
            });
            for _ in 0..3 {
                ring.push(batch as u32, PacketState::InFlight);
            }
            if batch % 4 == 0 {
                ring.forget_oldest();
            }
            if batch % 97 == 0 {
                for pn in ring.oldest()..ring.next() {
                    let packet = ring.packet(pn);
                    assert_eq!(ring.batch(packet).sent_ns, u64::from(packet.block));
                }
            }
        }
    }
}
