//! Fragments of IP packets put together (RFC 791 section 3.2, RFC 8200 section 4.5).
//!
//! The payload is not copied: what counts is its size and its first bytes.

use crate::dissect::{FragmentPart, IpPacket, PackedAddress};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Maximum number of packets that wait for fragments.
const MAX_WAITING: usize = 4096;
/// Maximum number of separate parts of a packet.
const MAX_PARTS: usize = 64;
/// Maximum wait for the fragments of a packet (RFC 8200 section 4.5: 60 s), ns.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Bytes kept of the first fragment: the header of the transport, and the first of its payload.
pub(crate) const KEPT_BYTES: usize = 128;

/// The identity of a packet in fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct FragmentKey {
    source: PackedAddress,
    destination: PackedAddress,
    protocol: u8,
    id: u32,
}

/// A packet that waits for fragments.
#[derive(Debug, Clone)]
pub(crate) struct WaitingPacket {
    since_ns: u64,
    /// Ranges of the payload that came, in order and apart.
    parts: Vec<(u32, u32)>,
    total: Option<u32>,
    head: [u8; KEPT_BYTES],
    head_bytes: usize,
    /// The frame of the first fragment that came.
    pub(crate) frame: u64,
    pub(crate) protocol: u8,
    pub(crate) source: PackedAddress,
    pub(crate) destination: PackedAddress,
}

/// What a fragment did.
#[derive(Debug)]
pub(crate) enum FragmentStep {
    /// Others are missing. The bytes of the first fragment, when it has come.
    Waiting(Option<[u8; 4]>),
    /// The packet is complete: its size and its first bytes.
    Complete(Box<WaitingPacket>),
}

impl WaitingPacket {
    /// The first bytes of the packet's payload, ports in front; empty before the first fragment.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head[..self.head_bytes]
    }

    /// The size of the packet's payload.
    pub(crate) fn total(&self) -> u32 {
        self.total.unwrap_or(0)
    }

    fn ports(&self) -> Option<[u8; 4]> {
        self.head().first_chunk().copied()
    }

    fn add(&mut self, packet: &IpPacket<'_>, part: FragmentPart) {
        let (begin, end) = (
            part.offset,
            part.offset.saturating_add(packet.payload_bytes),
        );
        if !part.more {
            self.total = Some(end);
        }
        if part.offset == 0 {
            self.head_bytes = packet.payload.len().min(KEPT_BYTES);
            self.head[..self.head_bytes].copy_from_slice(&packet.payload[..self.head_bytes]);
        }
        let at = self.parts.partition_point(|known| known.1 < begin);
        let (mut low, mut high, mut joined) = (begin, end, at);
        while let Some(known) = self.parts.get(joined)
            && known.0 <= end
        {
            (low, high) = (low.min(known.0), high.max(known.1));
            joined += 1;
        }
        self.parts.splice(at..joined, [(low, high)]);
        self.parts.truncate(MAX_PARTS);
    }

    fn is_complete(&self) -> bool {
        self.parts.len() == 1
            && self.parts[0].0 == 0
            && self.total.is_some_and(|total| self.parts[0].1 >= total)
            && self.head_bytes > 0
    }
}

/// The packets that wait for fragments.
#[derive(Debug, Default)]
pub(crate) struct FragmentTable {
    waiting: HashMap<FragmentKey, Box<WaitingPacket>, RandomState>,
}

impl FragmentTable {
    /// Takes in a fragment.
    pub(crate) fn push(
        &mut self,
        packet: &IpPacket<'_>,
        part: FragmentPart,
        frame: u64,
        at_ns: u64,
        lost: &mut impl FnMut(&WaitingPacket),
    ) -> FragmentStep {
        let key = FragmentKey {
            source: packet.source,
            destination: packet.destination,
            protocol: if packet.is_v6 { 0 } else { packet.protocol },
            id: part.id,
        };
        // Its identification is used again: what waits belongs to another packet (RFC 4963).
        let is_stale =
            |waiting: &mut Box<WaitingPacket>| at_ns.saturating_sub(waiting.since_ns) > PATIENCE_NS;
        if let Entry::Occupied(mut waiting) = self.waiting.entry(key)
            && is_stale(waiting.get_mut())
        {
            lost(&waiting.remove());
        }
        if self.waiting.len() >= MAX_WAITING && !self.waiting.contains_key(&key) {
            self.make_room(at_ns, lost);
        }
        let waiting = self.waiting.entry(key).or_insert_with(|| {
            Box::new(WaitingPacket {
                since_ns: at_ns,
                parts: Vec::new(),
                total: None,
                head: [0; KEPT_BYTES],
                head_bytes: 0,
                frame,
                protocol: packet.protocol,
                source: packet.source,
                destination: packet.destination,
            })
        });
        waiting.add(packet, part);
        if !waiting.is_complete() {
            return FragmentStep::Waiting(waiting.ports());
        }
        match self.waiting.remove(&key) {
            Some(complete) => FragmentStep::Complete(complete),
            None => FragmentStep::Waiting(None),
        }
    }

    /// Gives up packets that waited for too long, or the older half of all.
    fn make_room(&mut self, now_ns: u64, lost: &mut impl FnMut(&WaitingPacket)) {
        let mut times: Vec<u64> = self
            .waiting
            .values()
            .map(|packet| packet.since_ns)
            .collect();
        let half = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(half);
        let limit = (*median).max(now_ns.saturating_sub(PATIENCE_NS));
        self.waiting.retain(|_, packet| {
            let stays = packet.since_ns > limit;
            if !stays {
                lost(packet);
            }
            stays
        });
    }

    /// Gives up all packets, at the end of the capture.
    pub(crate) fn drain(&mut self, lost: &mut impl FnMut(&WaitingPacket)) {
        let mut left: Vec<_> = self.waiting.drain().map(|(_, packet)| packet).collect();
        left.sort_unstable_by_key(|packet| packet.frame);
        for packet in left {
            lost(&packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(payload: &[u8]) -> IpPacket<'_> {
        IpPacket {
            source: PackedAddress::v4(1),
            destination: PackedAddress::v4(2),
            protocol: 17,
            is_v6: false,
            ttl: 64,
            tos: 0,
            df: false,
            id: 7,
            header_bytes: 20,
            payload_bytes: payload.len() as u32,
            payload,
            fragment: None,
        }
    }

    #[test]
    fn a_fragment_that_waited_for_a_minute_does_not_complete_another_packet() {
        let (mut table, mut lost) = (FragmentTable::default(), Vec::new());
        let part = |offset, more| FragmentPart {
            id: 7,
            offset,
            more,
        };
        let mut push = |part, frame, at_ns| {
            let mut note = |packet: &WaitingPacket| lost.push(packet.frame);
            let step = table.push(&fragment(&[0; 16]), part, frame, at_ns, &mut note);
            matches!(step, FragmentStep::Complete(_))
        };
        assert!(!push(part(0, true), 1, 0));
        assert!(!push(part(16, false), 2, PATIENCE_NS + 1));
        assert!(push(part(0, true), 3, PATIENCE_NS + 2));
        assert_eq!(lost, [1]);
    }
}
