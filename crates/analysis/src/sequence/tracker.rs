//! The account of a flow's numbers.

use super::counts::{Arrival, RunningCounts};
use super::jumps::Jumps;
use super::missing_runs::MissingRuns;
use super::window::{WORDS, oldest_word, slot};
use caudal_core::sequence::SequenceCounts;

/// A larger jump forward is taken for garbage: at 20 million datagrams a second it is 214 s of silence.
const MAX_JUMP: u64 = 1 << 32;
/// No sender reaches this number; a larger one is garbage, and the counters of smaller ones cannot overflow.
const MAX_SEQUENCE: u64 = 1 << 62;

/// An exact account of the numbers of a flow that starts at zero, in bounded memory (at most 0.6 MB).
#[derive(Debug, Clone)]
pub struct SequenceTracker {
    /// One bit per number, word `number / 64 % WORDS`; set once received.
    ring: Box<[u64; WORDS]>,
    /// The number that follows the highest received: NextExp in RFC 4737.
    next: u64,
    received: u64,
    duplicate: u64,
    reordered: u64,
    late: u64,
    absurd: u64,
    extent_max: u64,
    three_reordered: u64,
    /// The three latest received numbers, newest first.
    recent: [u64; 3],
    jumps: Jumps,
    missing: MissingRuns,
}

impl Default for SequenceTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl SequenceTracker {
    /// A tracker that expects number zero first; all its memory is taken here.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ring: Box::new([0; WORDS]),
            next: 0,
            received: 0,
            duplicate: 0,
            reordered: 0,
            late: 0,
            absurd: 0,
            extent_max: 0,
            three_reordered: 0,
            recent: [0; 3],
            jumps: Jumps::new(),
            missing: MissingRuns::new(),
        }
    }

    /// Accounts for one datagram.
    #[inline]
    pub fn push(&mut self, seq: u64) -> Arrival {
        if seq < self.next {
            return self.push_behind(seq);
        }
        if seq > self.next {
            if seq - self.next > MAX_JUMP || seq >= MAX_SEQUENCE {
                self.absurd += 1;
                return Arrival::Absurd;
            }
            self.jumps.push(seq, self.received);
        } else if seq >= MAX_SEQUENCE {
            self.absurd += 1;
            return Arrival::Absurd;
        }
        self.slide_to(seq / 64);
        self.ring[slot(seq / 64)] |= 1 << (seq % 64);
        self.next = seq + 1;
        self.received += 1;
        self.recent = [seq, self.recent[0], self.recent[1]];
        Arrival::InOrder
    }

    /// Accounts for `count` datagrams that arrived in order with consecutive numbers from `first`.
    ///
    /// The same as that many calls of [`push`](Self::push), at the cost of one per 64.
    pub fn push_run(&mut self, first: u64, count: u32) {
        let mut seq = first;
        let mut left = u64::from(count);
        // One by one up to the first that is the next expected.
        while left > 0 {
            if seq == self.next && seq.saturating_add(left) <= MAX_SEQUENCE {
                break;
            }
            self.push(seq);
            seq = seq.saturating_add(1);
            left -= 1;
        }
        if left == 0 {
            return;
        }
        let end = seq + left;
        self.received += left;
        self.recent = match left {
            1 => [end - 1, self.recent[0], self.recent[1]],
            2 => [end - 1, end - 2, self.recent[0]],
            _ => [end - 1, end - 2, end - 3],
        };
        while seq < end {
            let word = seq / 64;
            let bits = (64 - seq % 64).min(end - seq);
            self.slide_to(word);
            self.ring[slot(word)] |= (u64::MAX >> (64 - bits)) << (seq % 64);
            seq += bits;
            self.next = seq;
        }
    }

    /// The counters so far.
    #[must_use]
    pub fn counts(&self) -> RunningCounts {
        RunningCounts {
            received: self.received,
            duplicate: self.duplicate,
            reordered: self.reordered,
            late: self.late,
            absurd: self.absurd,
            highest: self.next.checked_sub(1),
        }
    }

    /// Numbers up to the highest that have not arrived, reordered ones still in flight included.
    #[must_use]
    pub fn lost_so_far(&self) -> u64 {
        self.counts().lost_so_far()
    }

    /// The final counts; with `sent`, the datagrams missing beyond the highest received count as lost too.
    ///
    /// `received + lost + late` is then `sent`, unless a number beyond `sent` was received.
    #[must_use]
    pub fn finish(&self, sent: Option<u64>) -> SequenceCounts {
        let expected = self.next.max(sent.unwrap_or(0));
        let mut missing = self.missing.clone();
        if self.next > 0 {
            let top = (self.next - 1) / 64;
            for word in oldest_word(top)..top {
                missing.count_word(self.ring[slot(word)], 64);
            }
            missing.count_word(self.ring[slot(top)], ((self.next - 1) % 64 + 1) as u32);
        }
        missing.extend(expected - self.next);
        let (loss_runs, periods) = missing.runs();
        SequenceCounts {
            expected,
            received: self.received,
            lost: expected - self.received - self.late,
            duplicate: self.duplicate,
            reordered: self.reordered,
            late: self.late,
            absurd: self.absurd,
            highest: self.next.checked_sub(1),
            reorder_extent_max: self.extent_max,
            n_reordering: self.three_reordered,
            loss_runs,
            periods,
        }
    }

    /// A datagram with a number below the next expected one.
    #[cold]
    fn push_behind(&mut self, seq: u64) -> Arrival {
        let word = seq / 64;
        if word < oldest_word((self.next - 1) / 64) {
            // A number that left the window either was received or is missing; when every missing one has arrived late
            // already, this can only be a duplicate.
            if self.late < self.missing.total {
                self.late += 1;
                return Arrival::Late;
            }
            self.duplicate += 1;
            return Arrival::Duplicate;
        }
        let bits = &mut self.ring[slot(word)];
        let bit = 1 << (seq % 64);
        if *bits & bit != 0 {
            self.duplicate += 1;
            return Arrival::Duplicate;
        }
        *bits |= bit;
        let extent = self.received - self.jumps.first_over(seq).unwrap_or(self.received);
        if self.recent.iter().all(|&recent| recent > seq) {
            self.three_reordered += 1;
        }
        self.received += 1;
        self.reordered += 1;
        self.extent_max = self.extent_max.max(extent);
        self.recent = [seq, self.recent[0], self.recent[1]];
        Arrival::Reordered { extent }
    }

    /// Makes `word` the newest of the window and counts the missing numbers of those that leave it.
    #[inline]
    fn slide_to(&mut self, word: u64) {
        // Before the first datagram the ring is empty and word 0 is the newest.
        let top = self.next.saturating_sub(1) / 64;
        if word > top {
            self.slide(top, word);
        }
    }

    fn slide(&mut self, top: u64, word: u64) {
        // Words further ahead than a whole window were never in the ring.
        let through_ring = (word - top).min(WORDS as u64);
        for new in top + 1..=top + through_ring {
            let old = std::mem::take(&mut self.ring[slot(new)]);
            if new >= WORDS as u64 {
                self.missing.count_word(old, 64);
            }
        }
        let skipped = word - top - through_ring;
        if skipped > 0 {
            // Counting began with word top + 1 - WORDS; below word 0 there are no numbers.
            let first_uncounted = (top + 1 + through_ring).saturating_sub(WORDS as u64);
            let first_kept = oldest_word(word);
            self.missing.extend((first_kept - first_uncounted) * 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::sequence::LossRuns;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn tracked(numbers: impl IntoIterator<Item = u64>) -> SequenceTracker {
        let mut tracker = SequenceTracker::new();
        for seq in numbers {
            tracker.push(seq);
        }
        tracker
    }

    #[test]
    fn a_flow_that_arrives_complete_has_no_loss_runs() {
        let counts = tracked(0..200_000).finish(Some(200_000));
        assert_eq!((counts.received, counts.lost), (200_000, 0));
        assert_eq!((counts.reordered, counts.duplicate, counts.late), (0, 0, 0));
        assert_eq!(counts.loss_runs, LossRuns::default());
        assert_eq!(counts.highest, Some(199_999));
    }

    #[test]
    fn nothing_received_is_all_lost_in_one_run() {
        let counts = SequenceTracker::new().finish(Some(1000));
        assert_eq!(
            (counts.received, counts.lost, counts.highest),
            (0, 1000, None)
        );
        assert_eq!((counts.loss_runs.count, counts.loss_runs.max), (1, 1000));
        assert_eq!(SequenceTracker::new().finish(None).expected, 0);
    }

    #[test]
    fn reordering_counts_as_rfc_4737_does() {
        // The numbers 1, 2, 5, 3, 4, 6 of the RFC, from zero.
        let mut tracker = SequenceTracker::new();
        let arrivals = [0, 1, 4, 2, 3, 5].map(|seq| tracker.push(seq));
        assert_eq!(
            arrivals,
            [
                Arrival::InOrder,
                Arrival::InOrder,
                Arrival::InOrder,
                Arrival::Reordered { extent: 1 },
                Arrival::Reordered { extent: 2 },
                Arrival::InOrder,
            ]
        );
        let counts = tracker.finish(Some(6));
        assert_eq!((counts.received, counts.reordered, counts.lost), (6, 2, 0));
        assert_eq!((counts.reorder_extent_max, counts.n_reordering), (2, 0));
    }

    #[test]
    fn a_datagram_behind_three_larger_ones_is_three_reordered() {
        assert_eq!(tracked([0, 2, 3, 1]).finish(None).n_reordering, 0);
        assert_eq!(tracked([0, 2, 3, 4, 1]).finish(None).n_reordering, 1);
        // The one directly before it is smaller, so it is not.
        assert_eq!(tracked([0, 3, 4, 5, 1, 2]).finish(None).n_reordering, 1);
    }

    #[test]
    fn duplicates_are_counted_apart() {
        let mut tracker = tracked([0, 1, 2]);
        assert_eq!(tracker.push(1), Arrival::Duplicate);
        assert_eq!(tracker.push(2), Arrival::Duplicate);
        let counts = tracker.finish(Some(3));
        assert_eq!((counts.received, counts.duplicate, counts.lost), (3, 2, 0));
    }

    #[test]
    fn a_gap_counts_as_lost_until_it_is_filled() {
        let mut tracker = tracked([0, 1, 4]);
        assert_eq!(tracker.lost_so_far(), 2);
        tracker.push(2);
        assert_eq!(tracker.lost_so_far(), 1);
        assert_eq!(tracker.counts().highest, Some(4));
    }

    #[test]
    fn a_datagram_more_than_the_window_behind_is_late_and_no_longer_lost() {
        let mut tracker = tracked((0..200_000).filter(|seq| *seq != 5));
        assert_eq!(tracker.push(5), Arrival::Late);
        let counts = tracker.finish(Some(200_000));
        assert_eq!((counts.received, counts.late, counts.lost), (199_999, 1, 0));
        assert_eq!(counts.loss_runs.count, 1);
    }

    #[test]
    fn a_late_datagram_cannot_be_missing_twice() {
        let mut tracker = tracked((0..200_000).filter(|seq| *seq != 5));
        assert_eq!(tracker.push(5), Arrival::Late);
        assert_eq!(tracker.push(5), Arrival::Duplicate);
        let counts = tracker.finish(Some(200_000));
        assert_eq!(counts.received + counts.late + counts.lost, 200_000);
    }

    #[test]
    fn implausible_numbers_are_ignored_and_huge_jumps_are_cheap() {
        let mut tracker = tracked([0]);
        for seq in [u64::MAX, MAX_SEQUENCE, MAX_JUMP + 2] {
            assert_eq!(tracker.push(seq), Arrival::Absurd);
        }
        for jump in 1..10_000 {
            assert_eq!(tracker.push(jump * MAX_JUMP), Arrival::InOrder);
        }
        tracker.push_run(u64::MAX - 2, 10);
        let counts = tracker.finish(None);
        assert_eq!(counts.absurd, 13);
        assert_eq!(counts.received, 10_000);
        assert_eq!(counts.lost, 9_999 * MAX_JUMP + 1 - 10_000);
        assert_eq!(counts.loss_runs.count, 9_999);
        assert_eq!(counts.loss_runs.max, MAX_JUMP - 1);
    }

    #[test]
    fn loss_runs_count_their_number_and_lengths_to_the_end_of_the_flow() {
        let lost = [3, 10, 11, 64, 65, 66, 67, 68];
        let counts = tracked((0..100).filter(|seq| !lost.contains(seq))).finish(Some(164));
        assert_eq!(counts.lost, 8 + 64);
        assert_eq!(counts.loss_runs.count, 4);
        assert_eq!(counts.loss_runs.max, 64);
        assert_eq!(counts.loss_runs.mean, Some(18.0));
        assert_eq!(counts.loss_runs.histogram, [1, 1, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn a_number_beyond_those_sent_does_not_break_the_account() {
        let counts = tracked([0, 9]).finish(Some(5));
        assert_eq!((counts.expected, counts.lost), (10, 8));
    }

    /// The definitions again, with a set and a list and without regard to speed.
    #[derive(Default)]
    struct Model {
        order: Vec<u64>,
        seen: HashSet<u64>,
        next: u64,
        duplicate: u64,
        reordered: u64,
        late: u64,
        three: u64,
        extent_max: u64,
    }

    impl Model {
        fn push(&mut self, seq: u64) -> Arrival {
            if seq >= self.next {
                self.next = seq + 1;
                self.order.push(seq);
                self.seen.insert(seq);
                return Arrival::InOrder;
            }
            let window_start = (((self.next - 1) / 64 + 1).saturating_sub(1024)) * 64;
            if seq < window_start {
                let missing = (0..window_start).filter(|seq| !self.seen.contains(seq));
                if (missing.count() as u64) > self.late {
                    self.late += 1;
                    return Arrival::Late;
                }
                self.duplicate += 1;
                return Arrival::Duplicate;
            }
            if !self.seen.insert(seq) {
                self.duplicate += 1;
                return Arrival::Duplicate;
            }
            let first = self.order.iter().position(|&other| other > seq).unwrap();
            let extent = (self.order.len() - first) as u64;
            let behind = self.order.iter().rev().take(3);
            if self.order.len() >= 3 && behind.into_iter().all(|&other| other > seq) {
                self.three += 1;
            }
            self.order.push(seq);
            self.reordered += 1;
            self.extent_max = self.extent_max.max(extent);
            Arrival::Reordered { extent }
        }

        fn runs(&self, expected: u64) -> Vec<u64> {
            let mut runs = vec![];
            let mut run = 0;
            for seq in 0..expected {
                if self.seen.contains(&seq) {
                    runs.extend((run > 0).then_some(run));
                    run = 0;
                } else {
                    run += 1;
                }
            }
            runs.extend((run > 0).then_some(run));
            runs
        }
    }

    /// Steps relative to the next expected number: mostly runs, some gaps, swaps, repeats, far jumps and far returns.
    fn steps() -> impl Strategy<Value = Vec<(i64, u32)>> {
        let step = prop_oneof![
            6 => (Just(0_i64), 1_u32..400),
            3 => (1_i64..200, 1_u32..5),
            4 => (-300_i64..0, 1_u32..80),
            1 => (500_i64..150_000, 1_u32..3),
            2 => (-140_000_i64..-60_000, 1_u32..3),
        ];
        proptest::collection::vec(step, 1..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]

        #[test]
        fn the_tracker_agrees_with_the_definitions(steps in steps(), tail in 0_u64..500) {
            let mut model = Model::default();
            let mut tracker = SequenceTracker::new();
            for (offset, count) in steps {
                let first = model.next.saturating_add_signed(offset);
                for seq in first..first + u64::from(count) {
                    prop_assert_eq!(tracker.push(seq), model.push(seq), "{}", seq);
                }
            }
            let sent = model.next + tail;
            let counts = tracker.finish(Some(sent));
            prop_assert_eq!(counts.received, model.seen.len() as u64);
            prop_assert_eq!(counts.duplicate, model.duplicate);
            prop_assert_eq!(counts.reordered, model.reordered);
            prop_assert_eq!(counts.late, model.late);
            prop_assert_eq!(counts.n_reordering, model.three);
            prop_assert_eq!(counts.reorder_extent_max, model.extent_max);
            prop_assert_eq!(counts.received + counts.lost + counts.late, sent);
            let runs = model.runs(sent);
            prop_assert_eq!(counts.loss_runs.count, runs.len() as u64);
            prop_assert_eq!(counts.loss_runs.max, runs.iter().max().copied().unwrap_or(0));
            prop_assert_eq!(counts.loss_runs.histogram.iter().sum::<u64>(), counts.loss_runs.count);
            prop_assert_eq!(runs.iter().sum::<u64>(), counts.lost + counts.late);
        }

        #[test]
        fn a_run_counts_as_its_datagrams_one_by_one(steps in steps()) {
            let mut one_by_one = SequenceTracker::new();
            let mut by_runs = SequenceTracker::new();
            for (offset, count) in steps {
                let first = one_by_one.next.saturating_add_signed(offset);
                for seq in first..first + u64::from(count) {
                    one_by_one.push(seq);
                }
                by_runs.push_run(first, count);
                prop_assert_eq!(by_runs.counts(), one_by_one.counts());
                prop_assert_eq!(by_runs.recent, one_by_one.recent);
            }
            prop_assert_eq!(by_runs.finish(None), one_by_one.finish(None));
            prop_assert_eq!(by_runs.ring, one_by_one.ring);
        }

        #[test]
        fn no_sequence_of_numbers_breaks_the_account(numbers: Vec<(u64, u32)>, sent: Option<u64>) {
            let mut tracker = SequenceTracker::new();
            for (first, count) in numbers {
                tracker.push_run(first, count % 100_000);
                tracker.push(first >> (count % 64));
            }
            let counts = tracker.finish(sent);
            prop_assert_eq!(counts.received + counts.lost + counts.late, counts.expected);
        }
    }
}
