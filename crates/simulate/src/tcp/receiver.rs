//! The receiving half of a connection: what arrived, and when that is said.

use caudal_link::moment::Moment;

use super::segment::{Blocks, Segment};
use crate::span::after;

/// How long an acknowledgement is delayed (`TCP_DELACK_MIN` in Linux include/net/tcp.h).
const DELAY_NS: u64 = 40_000_000;
/// Segments acknowledged one by one at the start (`TCP_MAX_QUICKACKS`).
const QUICK: u32 = 16;
/// Acknowledgements that leave at once after the first gap, before they are gathered (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// How many may be gathered (`tcp_comp_sack_nr`).
const GATHERED: u32 = 44;
/// For how long (`tcp_comp_sack_delay_ns`), and at most a twentieth of a round trip.
const GATHER_NS: u64 = 1_000_000;
/// Stretches out of order that are kept, those beyond are forgotten as a full buffer would.
const STRETCHES: usize = 65_536;

/// The receiving half.
#[derive(Debug)]
pub(super) struct Receiver {
    mss: u32,
    window: u64,
    /// The first byte not received.
    next: u64,
    /// What has been acknowledged.
    said: u64,
    /// Received beyond `next`, in order and apart from each other.
    stretches: Vec<(u64, u64)>,
    /// The latest of them first.
    recent: [(u64, u64); Blocks::MOST],
    recent_count: usize,
    /// A segment that had arrived before, to be told once (RFC 2883).
    superfluous: Option<(u64, u64)>,
    quick: u32,
    /// Whether this end answers what it receives, so that acknowledgements travel with data.
    answers: bool,
    due: Option<Moment>,
    at_once: u32,
    at_once_from: u64,
    gathered: u32,
    /// The timestamp to echo (RFC 7323 section 4.3).
    echo: Option<Moment>,
    most_blocks: usize,
}

/// Whether something must be said now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Now,
    Later,
}

impl Receiver {
    pub(super) fn new(mss: u32, window: u64, timestamps: bool) -> Self {
        Self {
            mss,
            window,
            next: 0,
            said: 0,
            stretches: Vec::new(),
            recent: [(0, 0); Blocks::MOST],
            recent_count: 0,
            superfluous: None,
            quick: QUICK,
            answers: false,
            due: None,
            at_once: 0,
            at_once_from: 0,
            gathered: 0,
            echo: None,
            most_blocks: if timestamps { 3 } else { 4 },
        }
    }

    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn window(&self) -> u64 {
        self.window
    }

    pub(super) const fn deadline(&self) -> Option<Moment> {
        self.due
    }

    /// This end sends data of its own in answer.
    pub(super) const fn answers(&mut self) {
        self.answers = true;
    }

    /// Takes note of a segment's timestamp without taking its data.
    pub(super) fn note(&mut self, segment: &Segment) {
        if segment.sequence <= self.said && self.echo.is_none_or(|echo| echo <= segment.sent) {
            self.echo = Some(segment.sent);
        }
    }

    /// Takes a segment with data; gives when to answer.
    pub(super) fn accept(&mut self, now: Moment, segment: &Segment) -> Answer {
        self.note(segment);
        let start = segment.sequence;
        let end = start.saturating_add(u64::from(segment.length));
        if end <= self.next {
            self.superfluous = Some((start, end));
            self.quick = self.quick.max(QUICK);
            return Answer::Now;
        }
        if end > self.next.saturating_add(self.window) {
            // Outside of the window (RFC 9293 section 3.10.7.4).
            return Answer::Now;
        }
        if start > self.next {
            if !self.keep(start, end) {
                self.superfluous = Some((start, end));
                return Answer::Now;
            }
            return self.gather(now);
        }
        let had_gaps = !self.stretches.is_empty();
        self.next = end;
        let reached = self
            .stretches
            .partition_point(|(from, _)| *from <= self.next);
        if let Some((_, until)) = self.stretches[..reached].last() {
            self.next = self.next.max(*until);
        }
        self.stretches.drain(..reached);
        self.forget_below();
        let gap_closed = had_gaps && self.stretches.is_empty();
        let much = self.next - self.said > u64::from(self.mss);
        // Where the sender's block ends it may be waiting for this one (`tcp_measure_rcv_mss()`); the application here
        // reads at once.
        let at_once = (self.quick > 0 || segment.pushed) && !self.answers;
        if gap_closed || much || at_once {
            return Answer::Now;
        }
        if !self.stretches.is_empty() {
            return self.gather(now);
        }
        self.due.get_or_insert(after(now, DELAY_NS));
        Answer::Later
    }

    /// Keeps a stretch beyond a gap; `false` when it was there.
    fn keep(&mut self, start: u64, end: u64) -> bool {
        let first = self.stretches.partition_point(|(_, until)| *until < start);
        let mut merged = (start, end);
        let mut last = first;
        while let Some((from, until)) = self.stretches.get(last).copied()
            && from <= end
        {
            if from <= start && until >= end {
                return false;
            }
            merged = (merged.0.min(from), merged.1.max(until));
            last += 1;
        }
        if last == first && self.stretches.len() >= STRETCHES {
            return true;
        }
        self.stretches.splice(first..last, [merged]);
        // The stretch that grew becomes the latest; those it swallowed go.
        let mut kept = [(0, 0); Blocks::MOST];
        kept[0] = merged;
        let mut count = 1;
        for block in &self.recent[..self.recent_count] {
            let swallowed = block.0 >= merged.0 && block.1 <= merged.1;
            if !swallowed && count < kept.len() {
                kept[count] = *block;
                count += 1;
            }
        }
        (self.recent, self.recent_count) = (kept, count);
        true
    }

    /// Blocks that are in order by now are told no more.
    fn forget_below(&mut self) {
        let mut count = 0;
        for index in 0..self.recent_count {
            if self.recent[index].0 > self.next {
                self.recent[count] = self.recent[index];
                count += 1;
            }
        }
        self.recent_count = count;
    }

    /// The first acknowledgements of a gap leave at once, later ones are gathered for a while.
    ///
    /// Source: `__tcp_ack_snd_check()` in Linux net/ipv4/tcp_input.c.
    fn gather(&mut self, now: Moment) -> Answer {
        if self.at_once_from != self.next {
            (self.at_once_from, self.at_once) = (self.next, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return Answer::Now;
        }
        self.gathered += 1;
        if self.gathered >= GATHERED {
            return Answer::Now;
        }
        let due = after(now, GATHER_NS);
        self.due = Some(self.due.map_or(due, |already| already.min(due)));
        Answer::Later
    }

    /// Whether an acknowledgement is due; one that came late shows that there was nothing to answer with.
    pub(super) fn wake(&mut self, now: Moment) -> Answer {
        match self.due {
            Some(due) if due <= now => {
                self.answers = false;
                Answer::Now
            }
            _ => Answer::Later,
        }
    }

    /// Writes into `segment` what this end has received; nothing is due any more.
    pub(super) fn tell(&mut self, segment: &mut Segment) {
        segment.acknowledges = true;
        segment.acknowledged = self.next;
        segment.window = self.window;
        segment.echoed = self.echo;
        let repeated = self.superfluous.take();
        segment.blocks = Blocks::none(repeated.is_some());
        let recent = self.recent[..self.recent_count].iter().copied();
        for block in repeated.into_iter().chain(recent).take(self.most_blocks) {
            segment.blocks.push(block);
        }
        self.said = self.next;
        self.due = None;
        self.gathered = 0;
        self.quick = self.quick.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn data(sequence: u64) -> Segment {
        Segment {
            sequence,
            length: 1000,
            acknowledged: 0,
            window: 0,
            sent: Moment::START,
            echoed: None,
            syn: false,
            acknowledges: true,
            pushed: false,
            blocks: Blocks::default(),
        }
    }

    fn told(receiver: &mut Receiver) -> (u64, Vec<(u64, u64)>, bool) {
        let mut segment = data(0);
        receiver.tell(&mut segment);
        let repeated = segment.blocks.first_repeats();
        (
            segment.acknowledged,
            segment.blocks.iter().collect(),
            repeated,
        )
    }

    fn receiver() -> Receiver {
        Receiver::new(1000, 1 << 20, true)
    }

    #[test]
    fn every_segment_is_acknowledged_at_first_and_then_every_other() {
        let mut receiver = receiver();
        let mut said = Vec::new();
        for number in 0..24 {
            if receiver.accept(Moment::START, &data(number * 1000)) == Answer::Now {
                receiver.tell(&mut data(0));
                said.push(number);
            }
        }
        let first: Vec<u64> = (0..16).collect();
        assert_eq!(said[..16], first);
        assert_eq!(said[16..], [17, 19, 21, 23]);
    }

    #[test]
    fn a_single_segment_is_acknowledged_after_40_ms() {
        let mut receiver = receiver();
        receiver.quick = 0;
        let start = Moment::from_ns(5);
        assert_eq!(receiver.accept(start, &data(0)), Answer::Later);
        assert_eq!(receiver.deadline(), Some(Moment::from_ns(40_000_005)));
        assert_eq!(receiver.wake(Moment::from_ns(40_000_005)), Answer::Now);
    }

    #[test]
    fn the_end_of_a_block_is_acknowledged_at_once_unless_answers_carry_it() {
        let pushed = Segment {
            pushed: true,
            ..data(0)
        };
        let mut receiver = receiver();
        receiver.quick = 0;
        assert_eq!(receiver.accept(Moment::START, &pushed), Answer::Now);
        let mut receiver = self::receiver();
        receiver.answers();
        assert_eq!(receiver.accept(Moment::START, &pushed), Answer::Later);
    }

    #[test]
    fn the_latest_block_comes_first_and_a_repeated_segment_before_it() {
        let mut receiver = receiver();
        for start in [2000, 6000, 4000, 8000, 3000] {
            receiver.accept(Moment::START, &data(start));
        }
        let blocks = vec![(2000, 5000), (8000, 9000), (6000, 7000)];
        assert_eq!(told(&mut receiver), (0, blocks, false));
        receiver.accept(Moment::START, &data(6000));
        assert_eq!(told(&mut receiver).1[0], (6000, 7000));
        receiver.accept(Moment::START, &data(6000));
        assert!(told(&mut receiver).2);
    }

    proptest! {
        #[test]
        fn whatever_the_order_everything_is_received_once(order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle()) {
            let mut receiver = receiver();
            let mut arrived = BTreeSet::new();
            for number in order {
                receiver.accept(Moment::START, &data(number * 1000));
                arrived.insert(number);
                let in_order = (0..).find(|number| !arrived.contains(number)).unwrap();
                prop_assert_eq!(receiver.next(), in_order * 1000);
                let (_, blocks, repeated) = told(&mut receiver);
                prop_assert!(!repeated);
                for (start, end) in blocks {
                    prop_assert!(start > receiver.next());
                    prop_assert!((start / 1000..end / 1000).all(|number| arrived.contains(&number)));
                }
            }
            prop_assert_eq!(receiver.next(), 40_000);
            prop_assert!(receiver.stretches.is_empty());
        }
    }
}
