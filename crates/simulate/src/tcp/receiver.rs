//! The receiving half of a connection: reassembly and acknowledgements.

use caudal_link::time::SimTime;

use super::segment::{SackBlocks, TcpSegment};

/// The delay of an acknowledgement (`TCP_DELACK_MIN` in Linux include/net/tcp.h).
const DELAYED_ACK_NS: u64 = 40_000_000;
/// Segments acknowledged one by one at the start (`TCP_MAX_QUICKACKS`).
const MAX_QUICK_ACKS: u32 = 16;
/// Acknowledgements of out-of-order segments sent at once before they are compressed (`TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED_ACKS: u32 = 3;
/// The number of acknowledgements that are compressed into one (`tcp_comp_sack_nr`).
const MAX_COMPRESSED_ACKS: u32 = 44;
/// The delay of a compressed acknowledgement (`tcp_comp_sack_delay_ns`).
const COMPRESSION_DELAY_NS: u64 = 1_000_000;
/// Maximum number of out-of-order ranges; further ones are dropped as by a full buffer.
const MAX_RANGES: usize = 65_536;

/// The receiving half.
#[derive(Debug)]
pub(super) struct Receiver {
    mss: u32,
    window: u64,
    /// The sequence number of the first byte not received.
    next: u64,
    /// The sequence number last acknowledged.
    acknowledged: u64,
    /// Data received beyond `next`: disjoint ranges in order.
    out_of_order: Vec<(u64, u64)>,
    /// The bytes of these ranges.
    waiting: u64,
    /// The latest of these ranges first.
    recent: [(u64, u64); SackBlocks::MAX],
    recent_count: usize,
    /// A duplicate to be reported once (D-SACK, RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// Segments still to be acknowledged one by one.
    quick_acks: u32,
    /// Set when this end answers what it receives, so that data carries the acknowledgements (`pingpong` in Linux).
    pingpong: bool,
    /// The time of the delayed acknowledgement.
    ack_due: Option<SimTime>,
    /// Out-of-order segments acknowledged at once since `next` was `uncompressed_from`.
    uncompressed: u32,
    uncompressed_from: u64,
    compressed: u32,
    /// The timestamp to echo (RFC 7323 section 4.3).
    timestamp: Option<SimTime>,
    max_blocks: usize,
}

/// The time of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AckTiming {
    Now,
    Delayed,
}

impl Receiver {
    pub(super) fn new(mss: u32, window: u64, timestamps: bool) -> Self {
        Self {
            mss,
            window,
            next: 0,
            acknowledged: 0,
            out_of_order: Vec::new(),
            waiting: 0,
            recent: [(0, 0); SackBlocks::MAX],
            recent_count: 0,
            duplicate: None,
            quick_acks: MAX_QUICK_ACKS,
            pingpong: false,
            ack_due: None,
            uncompressed: 0,
            uncompressed_from: 0,
            compressed: 0,
            timestamp: None,
            max_blocks: if timestamps { 3 } else { 4 },
        }
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The number of bytes that have arrived, in order or not.
    pub(super) const fn arrived(&self) -> u64 {
        self.next + self.waiting
    }

    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    pub(super) const fn deadline(&self) -> Option<SimTime> {
        self.ack_due
    }

    /// Treats this end as one that answers what it receives (`inet_csk_enter_pingpong_mode()` in Linux).
    pub(super) const fn enter_pingpong_mode(&mut self) {
        self.pingpong = true;
    }

    /// Records the timestamp of a segment (RFC 7323 section 4.3).
    pub(super) fn record_timestamp(&mut self, segment: &TcpSegment) {
        if segment.sequence <= self.acknowledged
            && self
                .timestamp
                .is_none_or(|latest| latest <= segment.timestamp)
        {
            self.timestamp = Some(segment.timestamp);
        }
    }

    /// Takes a segment with data; gives the time of its acknowledgement.
    pub(super) fn receive(&mut self, now: SimTime, segment: &TcpSegment) -> AckTiming {
        self.record_timestamp(segment);
        let start = segment.sequence;
        let end = start.saturating_add(u64::from(segment.length));
        if end <= self.next {
            self.duplicate = Some((start, end));
            self.quick_acks = self.quick_acks.max(MAX_QUICK_ACKS);
            return AckTiming::Now;
        }
        if end > self.next.saturating_add(self.window) {
            // Outside of the window (RFC 9293 section 3.10.7.4).
            return AckTiming::Now;
        }
        if start > self.next {
            if !self.insert_out_of_order(start, end) {
                self.duplicate = Some((start, end));
                return AckTiming::Now;
            }
            return self.compress_ack(now);
        }
        let had_gaps = !self.out_of_order.is_empty();
        self.next = end;
        let joined = self
            .out_of_order
            .partition_point(|(from, _)| *from <= self.next);
        if let Some((_, until)) = self.out_of_order[..joined].last() {
            self.next = self.next.max(*until);
        }
        let joined = self.out_of_order.drain(..joined);
        self.waiting -= joined.map(|(from, until)| until - from).sum::<u64>();
        self.drop_acknowledged_blocks();
        let closed_gap = had_gaps && self.out_of_order.is_empty();
        let is_second_segment = self.next - self.acknowledged > u64::from(self.mss);
        // At a PSH the sender may be waiting for the acknowledgement (`tcp_measure_rcv_mss()`); the application here reads
        // at once.
        let is_quick = (self.quick_acks > 0 || segment.psh) && !self.pingpong;
        if closed_gap || is_second_segment || is_quick {
            return AckTiming::Now;
        }
        if !self.out_of_order.is_empty() {
            return self.compress_ack(now);
        }
        self.ack_due.get_or_insert(now.plus_ns(DELAYED_ACK_NS));
        AckTiming::Delayed
    }

    /// Inserts a range of out-of-order data; `false` when all of it had been received.
    fn insert_out_of_order(&mut self, start: u64, end: u64) -> bool {
        let first = self
            .out_of_order
            .partition_point(|(_, until)| *until < start);
        let mut merged = (start, end);
        let mut last = first;
        while let Some((from, until)) = self.out_of_order.get(last).copied()
            && from <= end
        {
            if from <= start && until >= end {
                return false;
            }
            merged = (merged.0.min(from), merged.1.max(until));
            last += 1;
        }
        if last == first && self.out_of_order.len() >= MAX_RANGES {
            return true;
        }
        let replaced = self.out_of_order.splice(first..last, [merged]);
        let known: u64 = replaced.map(|(from, until)| until - from).sum();
        self.waiting += merged.1 - merged.0 - known;
        // The merged range becomes the latest and replaces those it contains.
        let mut recent = [(0, 0); SackBlocks::MAX];
        recent[0] = merged;
        let mut count = 1;
        for block in &self.recent[..self.recent_count] {
            let is_contained = block.0 >= merged.0 && block.1 <= merged.1;
            if !is_contained && count < recent.len() {
                recent[count] = *block;
                count += 1;
            }
        }
        (self.recent, self.recent_count) = (recent, count);
        true
    }

    /// Removes blocks that are now in order.
    fn drop_acknowledged_blocks(&mut self) {
        let mut count = 0;
        for index in 0..self.recent_count {
            if self.recent[index].0 > self.next {
                self.recent[count] = self.recent[index];
                count += 1;
            }
        }
        self.recent_count = count;
    }

    /// The time of the acknowledgement of an out-of-order segment: the first ones are sent at once, later ones compressed.
    ///
    /// Source: `__tcp_ack_snd_check()` in Linux net/ipv4/tcp_input.c.
    fn compress_ack(&mut self, now: SimTime) -> AckTiming {
        if self.uncompressed_from != self.next {
            (self.uncompressed_from, self.uncompressed) = (self.next, 0);
        }
        if self.uncompressed < UNCOMPRESSED_ACKS {
            self.uncompressed += 1;
            return AckTiming::Now;
        }
        self.compressed += 1;
        if self.compressed >= MAX_COMPRESSED_ACKS {
            return AckTiming::Now;
        }
        let due = now.plus_ns(COMPRESSION_DELAY_NS);
        self.ack_due = Some(self.ack_due.map_or(due, |earlier| earlier.min(due)));
        AckTiming::Delayed
    }

    /// Checks whether an acknowledgement is due. If one is, there was no answer to carry it, and ping-pong mode ends.
    pub(super) fn wake(&mut self, now: SimTime) -> AckTiming {
        match self.ack_due {
            Some(due) if due <= now => {
                self.pingpong = false;
                AckTiming::Now
            }
            _ => AckTiming::Delayed,
        }
    }

    /// Fills in the acknowledgement, window, timestamp echo and SACK blocks of `segment`, after which none is due.
    pub(super) fn fill_ack(&mut self, segment: &mut TcpSegment) {
        segment.ack = true;
        segment.acknowledgment = self.next;
        segment.window = self.window;
        segment.timestamp_echo = self.timestamp;
        let duplicate = self.duplicate.take();
        segment.sack = SackBlocks::new(duplicate.is_some());
        let recent = self.recent[..self.recent_count].iter().copied();
        for block in duplicate.into_iter().chain(recent).take(self.max_blocks) {
            segment.sack.push(block);
        }
        self.acknowledged = self.next;
        self.ack_due = None;
        self.compressed = 0;
        self.quick_acks = self.quick_acks.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn data(sequence: u64) -> TcpSegment {
        TcpSegment {
            sequence,
            length: 1000,
            acknowledgment: 0,
            window: 0,
            timestamp: SimTime::START,
            timestamp_echo: None,
            syn: false,
            ack: true,
            psh: false,
            sack: SackBlocks::default(),
        }
    }

    /// The acknowledgement, the SACK blocks, and `true` when the first of them is a D-SACK.
    fn acknowledgement(receiver: &mut Receiver) -> (u64, Vec<(u64, u64)>, bool) {
        let mut segment = data(0);
        receiver.fill_ack(&mut segment);
        (
            segment.acknowledgment,
            segment.sack.iter().collect(),
            segment.sack.first_is_dsack(),
        )
    }

    fn receiver() -> Receiver {
        Receiver::new(1000, 1 << 20, true)
    }

    #[test]
    fn every_segment_is_acknowledged_at_first_and_then_every_other() {
        let mut receiver = receiver();
        let mut acknowledged = Vec::new();
        for number in 0..24 {
            if receiver.receive(SimTime::START, &data(number * 1000)) == AckTiming::Now {
                receiver.fill_ack(&mut data(0));
                acknowledged.push(number);
            }
        }
        let first: Vec<u64> = (0..16).collect();
        assert_eq!(acknowledged[..16], first);
        assert_eq!(acknowledged[16..], [17, 19, 21, 23]);
    }

    #[test]
    fn a_single_segment_is_acknowledged_after_40_ms() {
        let mut receiver = receiver();
        receiver.quick_acks = 0;
        let start = SimTime::from_ns(5);
        assert_eq!(receiver.receive(start, &data(0)), AckTiming::Delayed);
        assert_eq!(receiver.deadline(), Some(SimTime::from_ns(40_000_005)));
        assert_eq!(receiver.wake(SimTime::from_ns(40_000_005)), AckTiming::Now);
    }

    #[test]
    fn a_push_is_acknowledged_at_once_unless_an_answer_carries_the_acknowledgement() {
        let pushed = TcpSegment {
            psh: true,
            ..data(0)
        };
        let mut receiver = receiver();
        receiver.quick_acks = 0;
        assert_eq!(receiver.receive(SimTime::START, &pushed), AckTiming::Now);
        let mut receiver = self::receiver();
        receiver.enter_pingpong_mode();
        assert_eq!(
            receiver.receive(SimTime::START, &pushed),
            AckTiming::Delayed
        );
    }

    #[test]
    fn the_latest_block_comes_first_and_a_dsack_before_it() {
        let mut receiver = receiver();
        for start in [2000, 6000, 4000, 8000, 3000] {
            receiver.receive(SimTime::START, &data(start));
        }
        let blocks = vec![(2000, 5000), (8000, 9000), (6000, 7000)];
        assert_eq!(acknowledgement(&mut receiver), (0, blocks, false));
        receiver.receive(SimTime::START, &data(6000));
        assert_eq!(acknowledgement(&mut receiver).1[0], (6000, 7000));
        receiver.receive(SimTime::START, &data(6000));
        assert!(acknowledgement(&mut receiver).2);
    }

    proptest! {
        #[test]
        fn whatever_the_order_everything_is_received_once(order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle()) {
            let mut receiver = receiver();
            let mut arrived = BTreeSet::new();
            for number in order {
                receiver.receive(SimTime::START, &data(number * 1000));
                arrived.insert(number);
                let in_order = (0..).find(|number| !arrived.contains(number)).unwrap();
                prop_assert_eq!(receiver.next(), in_order * 1000);
                prop_assert_eq!(receiver.arrived(), arrived.len() as u64 * 1000);
                let (_, blocks, is_dsack) = acknowledgement(&mut receiver);
                prop_assert!(!is_dsack);
                for (start, end) in blocks {
                    prop_assert!(start > receiver.next());
                    prop_assert!((start / 1000..end / 1000).all(|number| arrived.contains(&number)));
                }
            }
            prop_assert_eq!(receiver.next(), 40_000);
            prop_assert!(receiver.out_of_order.is_empty());
        }
    }
}
