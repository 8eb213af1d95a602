//! Segments that wait for their acknowledgement.

use std::collections::VecDeque;

/// Maximum number kept; beyond it, segments give no round-trip time.
const MAX_SEGMENTS: usize = 8192;

#[derive(Debug, Clone, Copy)]
struct Waiting {
    begin: i64,
    end: i64,
    at_ns: u64,
    repeated: bool,
}

/// The segments of one direction that were not acknowledged yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnackedSegments {
    waiting: VecDeque<Waiting>,
    acked: i64,
}

impl UnackedSegments {
    /// A segment from `begin` to `end` was sent.
    #[inline]
    pub(crate) fn sent(&mut self, begin: i64, end: i64, at_ns: u64) {
        if self.waiting.len() < MAX_SEGMENTS {
            self.waiting.push_back(Waiting {
                begin,
                end,
                at_ns,
                repeated: false,
            });
        }
    }

    /// No time is known of any segment that waits.
    pub(crate) fn forget(&mut self) {
        for segment in &mut self.waiting {
            segment.repeated = true;
        }
    }

    /// A range was sent again, or came late: its acknowledgement no longer gives a time (Karn's algorithm, RFC 6298 section 3).
    pub(crate) fn sent_again(&mut self, begin: i64, end: i64) {
        // A range that was acknowledged before leaves all that wait as they are.
        if end <= self.acked {
            return;
        }
        let first = self.waiting.partition_point(|segment| segment.end <= begin);
        let mut is_known = false;
        let again = self.waiting.iter_mut().skip(first);
        for segment in again.take_while(|segment| segment.begin < end) {
            segment.repeated = true;
            is_known = true;
        }
        // It was not captured before: what acknowledges it waited for it.
        if !is_known && self.waiting.len() < MAX_SEGMENTS {
            let late = Waiting {
                begin,
                end,
                at_ns: 0,
                repeated: true,
            };
            self.waiting.insert(first, late);
        }
    }

    /// The time since the last of the segments that `ack` acknowledges; `None` when one of them was sent again.
    #[inline]
    pub(crate) fn acknowledged(&mut self, ack: i64, at_ns: u64) -> Option<u64> {
        self.acked = self.acked.max(ack);
        let (mut sent, mut repeated) = (None, false);
        while let Some(segment) = self.waiting.front()
            && segment.end <= ack
        {
            repeated |= segment.repeated;
            sent = Some(segment.at_ns);
            self.waiting.pop_front();
        }
        sent.filter(|_| !repeated)
            .map(|sent| at_ns.saturating_sub(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_that_of_the_last_segment_acknowledged() {
        let mut unacked = UnackedSegments::default();
        unacked.sent(0, 100, 10);
        unacked.sent(100, 200, 20);
        unacked.sent(200, 300, 30);
        assert_eq!(unacked.acknowledged(200, 50), Some(30));
        assert_eq!(unacked.acknowledged(200, 60), None);
        assert_eq!(unacked.acknowledged(300, 60), Some(30));
    }

    #[test]
    fn a_segment_sent_again_gives_no_time() {
        let mut unacked = UnackedSegments::default();
        unacked.sent(0, 100, 10);
        unacked.sent(100, 200, 20);
        unacked.sent_again(100, 200);
        assert_eq!(unacked.acknowledged(100, 40), Some(30));
        assert_eq!(unacked.acknowledged(200, 50), None);
    }
    #[test]
    fn what_was_acknowledged_before_and_is_sent_again_spoils_no_time() {
        let mut unacked = UnackedSegments::default();
        unacked.sent(0, 100, 10);
        unacked.sent(100, 200, 20);
        assert_eq!(unacked.acknowledged(100, 40), Some(30));
        unacked.sent_again(0, 100);
        assert_eq!(unacked.acknowledged(200, 50), Some(30));
    }
    #[test]
    fn what_was_not_captured_in_order_spoils_the_time_of_what_it_held_up() {
        let mut unacked = UnackedSegments::default();
        unacked.sent(0, 100, 10);
        unacked.sent(200, 300, 30);
        unacked.sent_again(100, 200);
        assert_eq!(unacked.acknowledged(300, 60), None);
        unacked.sent(300, 400, 70);
        assert_eq!(unacked.acknowledged(400, 90), Some(20));
    }
}
