//! What was sent and is not acknowledged: which of it arrived, which is lost, which was sent again.

use std::collections::{BTreeSet, VecDeque};

use caudal_link::moment::Moment;

use super::segment::Blocks;
use crate::span::ns_between;

/// A segment on its way.
#[derive(Debug, Clone)]
struct Sent {
    sequence: u64,
    length: u32,
    /// When it was last sent.
    at: Moment,
    repeated: bool,
    /// The receiver holds it.
    selected: bool,
    lost: bool,
    /// A repetition of what was lost is on its way.
    underway: bool,
}

impl Sent {
    const fn end(&self) -> u64 {
        self.sequence + self.length as u64
    }
}

/// The latest segment known to have arrived, by the time it was sent (RFC 8985 section 6.2).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rack {
    sent: Moment,
    end: u64,
    pub(super) rtt_ns: u64,
    /// Whether segments have been seen to arrive out of order.
    pub(super) reordering: bool,
}

impl Rack {
    /// Takes note that a segment sent at `sent` arrived.
    fn advance(&mut self, segment: &Sent, now: Moment, least_rtt_ns: Option<u64>) {
        let rtt_ns = ns_between(segment.at, now);
        // An acknowledgement faster than any was for the first copy.
        if segment.repeated && least_rtt_ns.is_some_and(|least| rtt_ns < least) {
            return;
        }
        self.rtt_ns = rtt_ns;
        if (segment.at, segment.end()) > (self.sent, self.end) {
            self.sent = segment.at;
            self.end = segment.end();
        }
    }
}

/// What an acknowledgement told.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct News {
    /// Segments that arrived and were not known to.
    pub(super) delivered: u64,
    /// Segments newly held by the receiver out of order.
    pub(super) selected: u64,
    /// Whether a repeated segment was acknowledged in order.
    pub(super) repeated: bool,
    /// When the first and last of the segments acknowledged in order and sent once were sent.
    pub(super) fresh: Option<(Moment, Moment)>,
    /// The same of the segments newly selected.
    pub(super) fresh_selected: Option<(Moment, Moment)>,
}

fn extend(range: &mut Option<(Moment, Moment)>, at: Moment) {
    *range = Some(match *range {
        Some((first, last)) => (first.min(at), last.max(at)),
        None => (at, at),
    });
}

/// Segments in the order of their sequence (RFC 6675's scoreboard, marked by RFC 8985).
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    sent: VecDeque<Sent>,
    /// The number of the first of them; segments are numbered as they are first sent.
    first: u64,
    /// Numbers by the time of sending; entries that no longer hold are passed over.
    by_time: VecDeque<(Moment, u64)>,
    /// Numbers of the segments that are lost and have no repetition underway.
    to_repeat: BTreeSet<u64>,
    selected: u64,
    lost: u64,
    underway: u64,
    highest_selected: u64,
    /// The blocks of the last acknowledgement, which need not be looked at again.
    known: Blocks,
    /// Segments ever marked lost.
    pub(super) losses: u64,
}

impl Scoreboard {
    /// Segments sent and not acknowledged in order.
    pub(super) fn len(&self) -> u64 {
        self.sent.len() as u64
    }

    /// Segments the receiver holds out of order.
    pub(super) const fn selected(&self) -> u64 {
        self.selected
    }

    /// Segments that are lost, sent again or not.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether a repetition is on its way.
    pub(super) const fn repeats(&self) -> bool {
        self.underway > 0
    }

    /// Segments on their way (the pipe of RFC 6675).
    pub(super) fn in_flight(&self) -> u64 {
        self.len() + self.underway - self.selected - self.lost
    }

    /// When the first was last sent.
    pub(super) fn head_sent(&self) -> Option<Moment> {
        self.sent.front().map(|segment| segment.at)
    }

    pub(super) fn push(&mut self, now: Moment, sequence: u64, length: u32) {
        let number = self.first + self.len();
        self.by_time.push_back((now, number));
        self.sent.push_back(Sent {
            sequence,
            length,
            at: now,
            repeated: false,
            selected: false,
            lost: false,
            underway: false,
        });
    }

    /// Takes out everything before `acknowledged`.
    pub(super) fn release(
        &mut self,
        acknowledged: u64,
        now: Moment,
        rack: &mut Rack,
        least_rtt_ns: Option<u64>,
        news: &mut News,
    ) {
        while let Some(segment) = self.sent.front()
            && segment.end() <= acknowledged
            && let Some(segment) = self.sent.pop_front()
        {
            let number = self.first;
            self.first += 1;
            if segment.selected {
                self.selected -= 1;
            } else {
                news.delivered += 1;
                rack.advance(&segment, now, least_rtt_ns);
                if !segment.repeated && segment.end() <= self.highest_selected {
                    rack.reordering = true;
                }
            }
            if segment.lost {
                self.lost -= 1;
                self.to_repeat.remove(&number);
            }
            self.underway -= u64::from(segment.underway);
            if segment.repeated {
                news.repeated = true;
            } else if !segment.selected {
                extend(&mut news.fresh, segment.at);
            }
        }
        if self.sent.is_empty() {
            self.by_time.clear();
        }
    }

    /// Marks what `blocks` say the receiver holds.
    pub(super) fn select(
        &mut self,
        blocks: &Blocks,
        now: Moment,
        rack: &mut Rack,
        least_rtt_ns: Option<u64>,
        news: &mut News,
    ) {
        for block in blocks.iter().skip(usize::from(blocks.first_repeats())) {
            let (mut start, end) = block;
            // A block that only grew is looked at where it grew.
            if let Some((_, known)) = self
                .known
                .iter()
                .find(|(from, until)| *from == start && *until <= end)
            {
                start = known;
            }
            let mut index = self
                .sent
                .partition_point(|segment| segment.sequence < start);
            while let Some(segment) = self.sent.get_mut(index)
                && segment.end() <= end
            {
                if !segment.selected {
                    segment.selected = true;
                    self.selected += 1;
                    news.selected += 1;
                    news.delivered += 1;
                    if segment.lost {
                        segment.lost = false;
                        self.lost -= 1;
                        self.to_repeat.remove(&(self.first + index as u64));
                    }
                    if segment.underway {
                        segment.underway = false;
                        self.underway -= 1;
                    }
                    if !segment.repeated {
                        extend(&mut news.fresh_selected, segment.at);
                        if segment.end() < self.highest_selected {
                            rack.reordering = true;
                        }
                    }
                    self.highest_selected = self.highest_selected.max(segment.end());
                    rack.advance(segment, now, least_rtt_ns);
                }
                index += 1;
            }
        }
        self.known = *blocks;
    }

    /// The place of segment `number`, if it was last sent at `at` and nobody knows what became of it.
    fn pending(&self, at: Moment, number: u64) -> Option<usize> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let segment = self.sent.get(index)?;
        let known = segment.selected || (segment.lost && !segment.underway);
        (segment.at == at && !known).then_some(index)
    }

    fn mark_lost(&mut self, index: usize) {
        let Some(segment) = self.sent.get_mut(index) else {
            return;
        };
        if segment.underway {
            segment.underway = false;
            self.underway -= 1;
        }
        if !segment.lost {
            segment.lost = true;
            self.lost += 1;
        }
        self.losses += 1;
        self.to_repeat.insert(self.first + index as u64);
    }

    /// Marks as lost what was sent long enough before something that arrived (RFC 8985 section 6.2, step 5).
    ///
    /// Gives how long to wait until more may be lost, when there is something to wait for.
    pub(super) fn detect(&mut self, rack: &Rack, window_ns: u64, now: Moment) -> Option<u64> {
        while let Some((at, number)) = self.by_time.front().copied() {
            let Some(index) = self.pending(at, number) else {
                self.by_time.pop_front();
                continue;
            };
            let later = (at, self.sent[index].end()) >= (rack.sent, rack.end);
            if later {
                return None;
            }
            let patience = rack.rtt_ns.saturating_add(window_ns);
            if ns_between(at, now) < patience {
                let longest = patience.saturating_sub(ns_between(rack.sent, now));
                return Some(longest.max(1));
            }
            self.mark_lost(index);
            self.by_time.pop_front();
        }
        None
    }

    /// Marks as lost what a timeout leaves no hope for: the first, and all that was sent a round trip ago.
    ///
    /// Source: `tcp_timeout_mark_lost()` in Linux net/ipv4/tcp_input.c.
    pub(super) fn time_out(&mut self, rack: &Rack, now: Moment) {
        for index in 0..self.sent.len() {
            let segment = &self.sent[index];
            let recent = ns_between(segment.at, now) < rack.rtt_ns;
            let known = segment.selected || (segment.lost && !segment.underway);
            if !known && (index == 0 || !recent) {
                self.mark_lost(index);
            }
        }
    }

    /// The first of what is to be sent again, if any.
    pub(super) fn next_to_repeat(&self) -> Option<u64> {
        self.to_repeat.first().copied()
    }

    /// The number of the first segment not acknowledged.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// The number of the last segment sent.
    pub(super) fn last(&self) -> Option<u64> {
        (!self.sent.is_empty()).then(|| self.first + self.len() - 1)
    }

    /// Segment `number` is sent again: its first byte and length.
    pub(super) fn repeat(&mut self, now: Moment, number: u64) -> Option<(u64, u32)> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let segment = self.sent.get_mut(index)?;
        segment.at = now;
        segment.repeated = true;
        self.to_repeat.remove(&number);
        if !segment.underway {
            segment.underway = true;
            self.underway += 1;
        }
        self.by_time.push_back((now, number));
        Some((segment.sequence, segment.length))
    }

    /// Nothing is lost after all.
    pub(super) fn forgive(&mut self) {
        for number in std::mem::take(&mut self.to_repeat) {
            let index = number.saturating_sub(self.first) as usize;
            if let Some(segment) = self.sent.get_mut(index) {
                segment.lost = false;
                self.lost -= 1;
                self.by_time.push_front((segment.at, number));
            }
        }
        for segment in &mut self.sent {
            if segment.lost {
                segment.lost = false;
                self.lost -= 1;
            }
        }
    }

    /// Whether the counts are those of the segments, which they are at all times.
    #[cfg(test)]
    pub(super) fn counts_hold(&self) -> bool {
        let count = |is: fn(&Sent) -> bool| self.sent.iter().filter(|s| is(s)).count() as u64;
        count(|s| s.selected) == self.selected
            && count(|s| s.lost) == self.lost
            && count(|s| s.underway) == self.underway
            && count(|s| s.lost && !s.underway) == self.to_repeat.len() as u64
            && count(|s| s.selected && (s.lost || s.underway)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Moment {
        Moment::from_ns(ms * MS)
    }

    fn blocks(list: &[(u64, u64)]) -> Blocks {
        let mut blocks = Blocks::none(false);
        for block in list {
            blocks.push(*block);
        }
        blocks
    }

    /// Ten segments of 1000 bytes, a millisecond apart.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::default();
        for number in 0..10 {
            board.push(at(number), number * 1000, 1000);
        }
        board
    }

    #[test]
    fn what_was_sent_before_something_that_arrived_is_lost_after_the_window() {
        let (mut board, mut rack, mut news) = (ten(), Rack::default(), News::default());
        board.release(1000, at(50), &mut rack, None, &mut news);
        board.select(&blocks(&[(2000, 3000)]), at(52), &mut rack, None, &mut news);
        assert_eq!(
            (news.delivered, news.selected, board.in_flight()),
            (2, 1, 8)
        );
        // Sent at 1 ms, a round trip of 50 and a window of 10: lost at 61.
        assert_eq!(board.detect(&rack, 10 * MS, at(52)), Some(10 * MS));
        assert_eq!((board.lost(), board.losses), (0, 0));
        assert_eq!(board.detect(&rack, 10 * MS, at(61)), None);
        assert_eq!((board.lost(), board.next_to_repeat()), (1, Some(1)));
        assert!(board.counts_hold());
    }

    #[test]
    fn a_lost_repetition_is_lost_again() {
        let (mut board, mut rack, mut news) = (ten(), Rack::default(), News::default());
        board.select(&blocks(&[(1000, 5000)]), at(54), &mut rack, None, &mut news);
        board.detect(&rack, 0, at(54));
        assert_eq!(board.repeat(at(55), 0), Some((0, 1000)));
        assert_eq!((board.lost(), board.in_flight()), (1, 6));
        board.push(at(56), 10_000, 1000);
        let held = blocks(&[(1000, 11_000)]);
        board.select(&held, at(106), &mut rack, None, &mut news);
        board.detect(&rack, 0, at(106));
        assert_eq!((board.next_to_repeat(), board.losses), (Some(0), 2));
        assert!(board.counts_hold());
        board.release(11_000, at(120), &mut rack, None, &mut news);
        assert_eq!((board.len(), board.lost(), board.in_flight()), (0, 0, 0));
    }

    #[test]
    fn a_timeout_spares_what_was_just_sent() {
        let (mut board, mut rack, mut news) = (ten(), Rack::default(), News::default());
        board.release(1000, at(5), &mut rack, None, &mut news);
        board.time_out(&rack, at(10));
        // A round trip of 5 ms: those sent at 6 ms and later may be on their way.
        assert_eq!((board.lost(), board.in_flight()), (5, 4));
        board.forgive();
        assert_eq!((board.lost(), board.next_to_repeat()), (0, None));
        assert!(board.counts_hold());
    }

    proptest! {
        #[test]
        fn the_counts_are_those_of_the_segments_whatever_comes(
            steps in prop::collection::vec((0..6_u8, 0..40_u64, 1..10_u64), 1..200),
        ) {
            let (mut board, mut rack, mut news) = (Scoreboard::default(), Rack::default(), News::default());
            let (mut next, mut una) = (0, 0);
            for (time, (what, from, length)) in steps.into_iter().enumerate() {
                let now = at(time as u64);
                match what {
                    0 | 1 => {
                        board.push(now, next * 1000, 1000);
                        next += 1;
                    }
                    2 => {
                        let held = blocks(&[((una + from) * 1000, (una + from + length) * 1000)]);
                        board.select(&held, now, &mut rack, None, &mut news);
                    }
                    3 => {
                        una = (una + from % 4).min(next);
                        board.release(una * 1000, now, &mut rack, None, &mut news);
                    }
                    4 => {
                        board.detect(&rack, from * MS, now);
                        if let Some(number) = board.next_to_repeat() {
                            board.repeat(now, number);
                        }
                    }
                    _ if from < 5 => board.forgive(),
                    _ => board.time_out(&rack, now),
                }
                prop_assert!(board.counts_hold());
                prop_assert_eq!(board.len(), next - una);
                prop_assert!(board.in_flight() <= 2 * board.len());
            }
            prop_assert!(news.delivered <= next);
        }
    }

    #[test]
    fn late_arrival_of_what_was_sent_once_is_reordering() {
        let (mut board, mut rack, mut news) = (ten(), Rack::default(), News::default());
        board.select(&blocks(&[(1000, 2000)]), at(50), &mut rack, None, &mut news);
        assert!(!rack.reordering);
        board.release(2000, at(51), &mut rack, None, &mut news);
        assert!(rack.reordering);
    }
}
