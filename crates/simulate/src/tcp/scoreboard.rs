//! The scoreboard: segments sent and not acknowledged, and which of them arrived, are lost, or were retransmitted.

use std::collections::{BTreeSet, VecDeque};

use caudal_link::time::SimTime;

use super::segment::{SackBlocks, SegmentRange};

/// A segment sent and not acknowledged.
#[derive(Debug, Clone)]
struct SentSegment {
    sequence: u64,
    length: u32,
    /// When it was last sent.
    sent_at: SimTime,
    retransmitted: bool,
    /// Set when the receiver has reported it in a SACK block.
    sacked: bool,
    lost: bool,
    /// Set while a retransmission is in flight.
    retransmission_in_flight: bool,
}

impl SentSegment {
    const fn end(&self) -> u64 {
        self.sequence + self.length as u64
    }
}

/// The state of RACK: the latest sent of the segments known to have arrived (RFC 8985 section 6.2).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rack {
    sent_at: SimTime,
    end: u64,
    pub(super) rtt_ns: u64,
    /// Set once segments have arrived out of order.
    pub(super) reordering_seen: bool,
}

impl Rack {
    /// Updates the state after `segment` arrived.
    fn update(&mut self, segment: &SentSegment, now: SimTime, min_rtt_ns: Option<u64>) {
        let rtt_ns = now.ns_since(segment.sent_at);
        // An acknowledgement faster than the minimum is one of the original transmission.
        if segment.retransmitted && min_rtt_ns.is_some_and(|min| rtt_ns < min) {
            return;
        }
        self.rtt_ns = rtt_ns;
        if (segment.sent_at, segment.end()) > (self.sent_at, self.end) {
            self.sent_at = segment.sent_at;
            self.end = segment.end();
        }
    }
}

/// The effects of an acknowledgement on the scoreboard.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AckSummary {
    /// Segments newly known to have arrived.
    pub(super) delivered: u64,
    /// Segments newly reported in SACK blocks.
    pub(super) sacked: u64,
    /// Set when a retransmitted segment was acknowledged in order.
    pub(super) acked_retransmission: bool,
    /// The first and last send times of segments acknowledged in order and never retransmitted.
    pub(super) acked_sent_at: Option<(SimTime, SimTime)>,
    /// The first and last send times of segments newly reported in SACK blocks and never retransmitted.
    pub(super) sacked_sent_at: Option<(SimTime, SimTime)>,
}

fn extend(range: &mut Option<(SimTime, SimTime)>, at: SimTime) {
    *range = Some(match *range {
        Some((first, last)) => (first.min(at), last.max(at)),
        None => (at, at),
    });
}

/// The scoreboard of RFC 6675, with the loss detection of RFC 8985.
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    /// The segments in order of sequence.
    segments: VecDeque<SentSegment>,
    /// The number of the first of them; segments are numbered in order of their first transmission.
    first: u64,
    /// Send times and numbers in order of time; entries of segments sent again since are skipped.
    by_time: VecDeque<(SimTime, u64)>,
    /// The numbers of segments that are lost and have no retransmission in flight.
    to_retransmit: BTreeSet<u64>,
    sacked: u64,
    lost: u64,
    retransmissions_in_flight: u64,
    /// The end of the highest segment reported in a SACK block.
    highest_sacked: u64,
    /// The blocks of the last acknowledgement, which need not be searched again.
    previous_blocks: SackBlocks,
    /// The number of times a segment was marked lost.
    pub(super) losses: u64,
}

impl Scoreboard {
    /// The number of segments sent and not acknowledged in order.
    pub(super) fn len(&self) -> u64 {
        self.segments.len() as u64
    }

    /// The number of segments reported in SACK blocks.
    pub(super) const fn sacked(&self) -> u64 {
        self.sacked
    }

    /// The number of lost segments, retransmitted or not.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// `true` while a retransmission is in flight.
    pub(super) const fn has_retransmission_in_flight(&self) -> bool {
        self.retransmissions_in_flight > 0
    }

    /// The number of segments in flight (the pipe of RFC 6675).
    pub(super) fn in_flight(&self) -> u64 {
        self.len() + self.retransmissions_in_flight - self.sacked - self.lost
    }

    /// The time at which the first segment was last sent.
    pub(super) fn head_sent_at(&self) -> Option<SimTime> {
        self.segments.front().map(|segment| segment.sent_at)
    }

    /// Adds a segment sent at `now` for the first time.
    pub(super) fn push(&mut self, now: SimTime, sequence: u64, length: u32) {
        let number = self.first + self.len();
        self.by_time.push_back((now, number));
        self.segments.push_back(SentSegment {
            sequence,
            length,
            sent_at: now,
            retransmitted: false,
            sacked: false,
            lost: false,
            retransmission_in_flight: false,
        });
    }

    /// Removes all segments before `acknowledged`.
    pub(super) fn acknowledge(
        &mut self,
        acknowledged: u64,
        now: SimTime,
        rack: &mut Rack,
        min_rtt_ns: Option<u64>,
        summary: &mut AckSummary,
    ) {
        while let Some(segment) = self.segments.front()
            && segment.end() <= acknowledged
            && let Some(segment) = self.segments.pop_front()
        {
            let number = self.first;
            self.first += 1;
            if segment.sacked {
                self.sacked -= 1;
            } else {
                summary.delivered += 1;
                rack.update(&segment, now, min_rtt_ns);
                if !segment.retransmitted && segment.end() <= self.highest_sacked {
                    rack.reordering_seen = true;
                }
            }
            if segment.lost {
                self.lost -= 1;
                self.to_retransmit.remove(&number);
            }
            self.retransmissions_in_flight -= u64::from(segment.retransmission_in_flight);
            if segment.retransmitted {
                summary.acked_retransmission = true;
            } else if !segment.sacked {
                extend(&mut summary.acked_sent_at, segment.sent_at);
            }
        }
        if self.segments.is_empty() {
            self.by_time.clear();
        }
    }

    /// Marks the segments in SACK blocks.
    pub(super) fn mark_sacked(
        &mut self,
        blocks: &SackBlocks,
        now: SimTime,
        rack: &mut Rack,
        min_rtt_ns: Option<u64>,
        summary: &mut AckSummary,
    ) {
        for block in blocks.iter().skip(usize::from(blocks.first_is_dsack())) {
            let (mut start, end) = block;
            // A block that has only grown is searched where it has grown.
            if let Some((_, searched)) = self
                .previous_blocks
                .iter()
                .find(|(from, until)| *from == start && *until <= end)
            {
                start = searched;
            }
            let mut index = self
                .segments
                .partition_point(|segment| segment.sequence < start);
            while let Some(segment) = self.segments.get_mut(index)
                && segment.end() <= end
            {
                if !segment.sacked {
                    segment.sacked = true;
                    self.sacked += 1;
                    summary.sacked += 1;
                    summary.delivered += 1;
                    if segment.lost {
                        segment.lost = false;
                        self.lost -= 1;
                        self.to_retransmit.remove(&(self.first + index as u64));
                    }
                    if segment.retransmission_in_flight {
                        segment.retransmission_in_flight = false;
                        self.retransmissions_in_flight -= 1;
                    }
                    if !segment.retransmitted {
                        extend(&mut summary.sacked_sent_at, segment.sent_at);
                        if segment.end() < self.highest_sacked {
                            rack.reordering_seen = true;
                        }
                    }
                    self.highest_sacked = self.highest_sacked.max(segment.end());
                    rack.update(segment, now, min_rtt_ns);
                }
                index += 1;
            }
        }
        self.previous_blocks = *blocks;
    }

    /// The index of segment `number`, if it was last sent at `sent_at` and its fate is unknown.
    fn pending(&self, sent_at: SimTime, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let segment = self.segments.get(index)?;
        let is_known = segment.sacked || (segment.lost && !segment.retransmission_in_flight);
        (segment.sent_at == sent_at && !is_known).then_some(index)
    }

    fn mark_lost(&mut self, index: usize) {
        let Some(segment) = self.segments.get_mut(index) else {
            return;
        };
        if segment.retransmission_in_flight {
            segment.retransmission_in_flight = false;
            self.retransmissions_in_flight -= 1;
        }
        if !segment.lost {
            segment.lost = true;
            self.lost += 1;
        }
        self.losses += 1;
        self.to_retransmit.insert(self.first + index as u64);
    }

    /// Marks segments as lost that were sent long enough before one that arrived (RFC 8985 section 6.2, step 5).
    ///
    /// Gives the time in nanoseconds after which more may be lost; `None` when no more can be.
    pub(super) fn detect_losses(
        &mut self,
        rack: &Rack,
        window_ns: u64,
        now: SimTime,
    ) -> Option<u64> {
        while let Some((sent_at, number)) = self.by_time.front().copied() {
            let Some(index) = self.pending(sent_at, number) else {
                self.by_time.pop_front();
                continue;
            };
            let is_later = (sent_at, self.segments[index].end()) >= (rack.sent_at, rack.end);
            if is_later {
                return None;
            }
            let timeout_ns = rack.rtt_ns.saturating_add(window_ns);
            if now.ns_since(sent_at) < timeout_ns {
                let remaining_ns = timeout_ns.saturating_sub(now.ns_since(rack.sent_at));
                return Some(remaining_ns.max(1));
            }
            self.mark_lost(index);
            self.by_time.pop_front();
        }
        None
    }

    /// Marks segments as lost after a timeout: the first, and all that were sent a round trip ago or earlier.
    ///
    /// Source: `tcp_timeout_mark_lost()` in Linux net/ipv4/tcp_input.c.
    pub(super) fn mark_lost_on_timeout(&mut self, rack: &Rack, now: SimTime) {
        for index in 0..self.segments.len() {
            let segment = &self.segments[index];
            let is_recent = now.ns_since(segment.sent_at) < rack.rtt_ns;
            let is_known = segment.sacked || (segment.lost && !segment.retransmission_in_flight);
            if !is_known && (index == 0 || !is_recent) {
                self.mark_lost(index);
            }
        }
    }

    /// The number of the next segment to retransmit.
    pub(super) fn next_to_retransmit(&self) -> Option<u64> {
        self.to_retransmit.first().copied()
    }

    /// The number of the first segment not acknowledged.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// The number of the last segment sent.
    pub(super) fn last(&self) -> Option<u64> {
        (!self.segments.is_empty()).then(|| self.first + self.len() - 1)
    }

    /// Records the retransmission of segment `number` at `now`; gives its range.
    pub(super) fn retransmit(&mut self, now: SimTime, number: u64) -> Option<SegmentRange> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let segment = self.segments.get_mut(index)?;
        segment.sent_at = now;
        segment.retransmitted = true;
        self.to_retransmit.remove(&number);
        if !segment.retransmission_in_flight {
            segment.retransmission_in_flight = true;
            self.retransmissions_in_flight += 1;
        }
        self.by_time.push_back((now, number));
        Some(SegmentRange {
            sequence: segment.sequence,
            length: segment.length,
        })
    }

    /// Marks all segments as not lost.
    pub(super) fn unmark_losses(&mut self) {
        for number in std::mem::take(&mut self.to_retransmit) {
            let index = number.saturating_sub(self.first) as usize;
            if let Some(segment) = self.segments.get_mut(index) {
                segment.lost = false;
                self.lost -= 1;
                self.by_time.push_front((segment.sent_at, number));
            }
        }
        for segment in &mut self.segments {
            if segment.lost {
                segment.lost = false;
                self.lost -= 1;
            }
        }
    }

    /// `true` when the counts agree with the segments, as they always do.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let count =
            |is: fn(&SentSegment) -> bool| self.segments.iter().filter(|s| is(s)).count() as u64;
        count(|s| s.sacked) == self.sacked
            && count(|s| s.lost) == self.lost
            && count(|s| s.retransmission_in_flight) == self.retransmissions_in_flight
            && count(|s| s.lost && !s.retransmission_in_flight) == self.to_retransmit.len() as u64
            && count(|s| s.sacked && (s.lost || s.retransmission_in_flight)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> SimTime {
        SimTime::from_ns(ms * MS)
    }

    fn blocks(list: &[(u64, u64)]) -> SackBlocks {
        let mut blocks = SackBlocks::new(false);
        for block in list {
            blocks.push(*block);
        }
        blocks
    }

    /// A scoreboard with ten segments of 1000 bytes, sent a millisecond apart.
    fn ten_segments() -> Scoreboard {
        let mut board = Scoreboard::default();
        for number in 0..10 {
            board.push(at(number), number * 1000, 1000);
        }
        board
    }

    #[test]
    fn a_segment_sent_before_one_that_arrived_is_lost_after_the_reordering_window() {
        let (mut board, mut rack, mut summary) =
            (ten_segments(), Rack::default(), AckSummary::default());
        board.acknowledge(1000, at(50), &mut rack, None, &mut summary);
        board.mark_sacked(
            &blocks(&[(2000, 3000)]),
            at(52),
            &mut rack,
            None,
            &mut summary,
        );
        assert_eq!(
            (summary.delivered, summary.sacked, board.in_flight()),
            (2, 1, 8)
        );
        // Sent at 1 ms, a round trip of 50 and a window of 10: lost at 61.
        assert_eq!(board.detect_losses(&rack, 10 * MS, at(52)), Some(10 * MS));
        assert_eq!((board.lost(), board.losses), (0, 0));
        assert_eq!(board.detect_losses(&rack, 10 * MS, at(61)), None);
        assert_eq!((board.lost(), board.next_to_retransmit()), (1, Some(1)));
        assert!(board.is_consistent());
    }

    #[test]
    fn a_lost_retransmission_is_marked_lost_again() {
        let (mut board, mut rack, mut summary) =
            (ten_segments(), Rack::default(), AckSummary::default());
        board.mark_sacked(
            &blocks(&[(1000, 5000)]),
            at(54),
            &mut rack,
            None,
            &mut summary,
        );
        board.detect_losses(&rack, 0, at(54));
        assert_eq!(
            board.retransmit(at(55), 0),
            Some(SegmentRange {
                sequence: 0,
                length: 1000
            })
        );
        assert_eq!((board.lost(), board.in_flight()), (1, 6));
        board.push(at(56), 10_000, 1000);
        let sack = blocks(&[(1000, 11_000)]);
        board.mark_sacked(&sack, at(106), &mut rack, None, &mut summary);
        board.detect_losses(&rack, 0, at(106));
        assert_eq!((board.next_to_retransmit(), board.losses), (Some(0), 2));
        assert!(board.is_consistent());
        board.acknowledge(11_000, at(120), &mut rack, None, &mut summary);
        assert_eq!((board.len(), board.lost(), board.in_flight()), (0, 0, 0));
    }

    #[test]
    fn a_timeout_does_not_mark_segments_just_sent() {
        let (mut board, mut rack, mut summary) =
            (ten_segments(), Rack::default(), AckSummary::default());
        board.acknowledge(1000, at(5), &mut rack, None, &mut summary);
        board.mark_lost_on_timeout(&rack, at(10));
        // A round trip of 5 ms: those sent at 6 ms and later may be on their way.
        assert_eq!((board.lost(), board.in_flight()), (5, 4));
        board.unmark_losses();
        assert_eq!((board.lost(), board.next_to_retransmit()), (0, None));
        assert!(board.is_consistent());
    }

    proptest! {
        #[test]
        fn the_counts_always_agree_with_the_segments(
            steps in prop::collection::vec((0..6_u8, 0..40_u64, 1..10_u64), 1..200),
        ) {
            let (mut board, mut rack, mut summary) = (Scoreboard::default(), Rack::default(), AckSummary::default());
            let (mut next, mut una) = (0, 0);
            for (time, (what, from, length)) in steps.into_iter().enumerate() {
                let now = at(time as u64);
                match what {
                    0 | 1 => {
                        board.push(now, next * 1000, 1000);
                        next += 1;
                    }
                    2 => {
                        let sack = blocks(&[((una + from) * 1000, (una + from + length) * 1000)]);
                        board.mark_sacked(&sack, now, &mut rack, None, &mut summary);
                    }
                    3 => {
                        una = (una + from % 4).min(next);
                        board.acknowledge(una * 1000, now, &mut rack, None, &mut summary);
                    }
                    4 => {
                        board.detect_losses(&rack, from * MS, now);
                        if let Some(number) = board.next_to_retransmit() {
                            board.retransmit(now, number);
                        }
                    }
                    _ if from < 5 => board.unmark_losses(),
                    _ => board.mark_lost_on_timeout(&rack, now),
                }
                prop_assert!(board.is_consistent());
                prop_assert_eq!(board.len(), next - una);
                prop_assert!(board.in_flight() <= 2 * board.len());
            }
            prop_assert!(summary.delivered <= next);
        }
    }

    #[test]
    fn the_late_arrival_of_a_segment_sent_once_is_reordering() {
        let (mut board, mut rack, mut summary) =
            (ten_segments(), Rack::default(), AckSummary::default());
        board.mark_sacked(
            &blocks(&[(1000, 2000)]),
            at(50),
            &mut rack,
            None,
            &mut summary,
        );
        assert!(!rack.reordering_seen);
        board.acknowledge(2000, at(51), &mut rack, None, &mut summary);
        assert!(rack.reordering_seen);
    }
}
