//! What became of packets in each direction, by the numbers of both ends.

use caudal_core::stamp::{ReflectorNumbering, StampWay, StampWays};
use caudal_stats::wilson;
use std::collections::HashMap;

/// The numbers of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyNumbers {
    /// The number of the packet.
    pub packet: u32,
    /// The number with which the reflector sent it back.
    pub reply: u32,
}

/// The counts of a session at one of its packets, by direct measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCounts {
    /// Packets sent up to that packet.
    pub sent: u32,
    /// Packets that the reflector had received.
    pub received: u32,
}

/// Both directions of a test of `sent` packets, numbered from 0, by its replies in the order in which they arrived and by the counts of
/// the last of them that has any.
///
/// A reflector that keeps state numbers its replies from 0 in each session: what is missing of them was lost on the way back, and the
/// packets that its numbers have no room for on the way there (RFC 8762 section 4.3). Where its numbers are those of the packets it keeps
/// none, or it received every packet: only its counts tell which.
#[must_use]
pub fn ways(
    sent: u64,
    replies: &[ReplyNumbers],
    counts: Option<SessionCounts>,
    confidence: f64,
) -> StampWays {
    let Some(known) = KnownReplies::new(replies) else {
        return StampWays {
            numbering: None,
            up: StampWay {
                sent: Some(sent),
                ..StampWay::default()
            },
            down: StampWay::default(),
            undecided: sent,
        };
    };
    let has_own = replies.iter().any(|one| one.packet != one.reply);
    // The packets up to the last that is known to have arrived; what became of those after it cannot be told.
    let settled = u64::from(known.last_packet) + 1;
    let lost = settled.saturating_sub(known.packets);
    let received = match counts {
        // Without losses there is nothing to be told apart.
        _ if lost == 0 => Some(settled),
        // By the reflector's own counts, which one that numbers replies as packets may keep as well. What arrived twice is counted twice.
        Some(counts) => {
            let received = u64::from(counts.received).saturating_sub(known.duplicate_up);
            let lost_up = u64::from(counts.sent).saturating_sub(received);
            // One that counts the packets of other sessions too has more than were sent.
            let is_own = received <= u64::from(counts.sent) && lost_up <= lost;
            is_own.then(|| settled - lost_up)
        }
        None => None,
    };
    let own =
        || has_own.then(|| (u64::from(known.last_reply) + 1).saturating_sub(known.duplicate_up));
    let received = received.or_else(own);
    // Numbers that leave room for more packets than there were are not of this session alone.
    let received = received.filter(|received| (known.packets..=settled).contains(received));
    let numbering = match has_own {
        true => ReflectorNumbering::Own,
        false => ReflectorNumbering::OfSender,
    };
    let way = |sent: u64, arrived: u64| {
        let lost = sent.saturating_sub(arrived);
        StampWay {
            sent: Some(sent),
            lost: Some(lost),
            loss: wilson(lost, sent, confidence),
            ..StampWay::default()
        }
    };
    let (up, down, undecided) = match received {
        Some(received) => (
            way(settled, received),
            way(received, known.packets),
            sent.saturating_sub(settled),
        ),
        None => (
            StampWay {
                sent: Some(sent),
                ..StampWay::default()
            },
            StampWay::default(),
            sent.saturating_sub(known.packets),
        ),
    };
    // With the numbers of packets a reflector does not tell in which direction: only that there is none.
    let told = |in_this: u64, in_both: u64| (has_own || in_both == 0).then_some(in_this);
    let duplicate = known.duplicate_up + known.duplicate_down;
    let reordered = known.reordered_up + known.reordered_down;
    StampWays {
        numbering: Some(numbering),
        up: StampWay {
            duplicate: told(known.duplicate_up, duplicate),
            reordered: told(known.reordered_up, reordered),
            ..up
        },
        down: StampWay {
            duplicate: told(known.duplicate_down, duplicate),
            reordered: told(known.reordered_down, reordered),
            ..down
        },
        undecided,
    }
}

/// What the numbers of the replies say.
struct KnownReplies {
    /// Packets that were answered.
    packets: u64,
    /// The highest number of an answered packet.
    last_packet: u32,
    /// The highest number of a reply.
    last_reply: u32,
    /// Replies to packets that another reply had answered: the packet arrived twice.
    duplicate_up: u64,
    /// Replies that arrived twice.
    duplicate_down: u64,
    /// Packets that arrived at the reflector after one that was sent later.
    reordered_up: u64,
    /// Replies that arrived after one that was sent later.
    reordered_down: u64,
}

impl KnownReplies {
    /// `None` without replies.
    fn new(replies: &[ReplyNumbers]) -> Option<Self> {
        let mut by_packet: HashMap<u32, u32> = HashMap::with_capacity(replies.len());
        let (mut duplicate_up, mut duplicate_down, mut reordered_down) = (0, 0, 0);
        let mut first_arrivals = Vec::with_capacity(replies.len());
        let mut highest_reply = None;
        for one in replies {
            if let Some(known) = by_packet.get(&one.packet) {
                match *known == one.reply {
                    true => duplicate_down += 1,
                    false => duplicate_up += 1,
                }
                continue;
            }
            by_packet.insert(one.packet, one.reply);
            first_arrivals.push(*one);
            if highest_reply.is_some_and(|highest| one.reply < highest) {
                reordered_down += 1;
            }
            highest_reply = highest_reply.max(Some(one.reply));
        }
        // In the order in which the reflector sent them, which is that of their arrival there.
        first_arrivals.sort_by_key(|one| one.reply);
        let mut highest_packet = None;
        let mut reordered_up = 0;
        for one in &first_arrivals {
            if highest_packet.is_some_and(|highest| one.packet < highest) {
                reordered_up += 1;
            }
            highest_packet = highest_packet.max(Some(one.packet));
        }
        Some(Self {
            packets: by_packet.len() as u64,
            last_packet: highest_packet?,
            last_reply: replies.iter().map(|one| one.reply).max()?,
            duplicate_up,
            duplicate_down,
            reordered_up,
            reordered_down,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replies of a reflector that keeps state, to packets of which those in `lost_up` do not reach it and whose replies with the
    /// numbers in `lost_down` do not come back.
    fn replies(sent: u32, lost_up: &[u32], lost_down: &[u32]) -> Vec<ReplyNumbers> {
        let arrived = (0..sent).filter(|packet| !lost_up.contains(packet));
        let all = arrived
            .zip(0..)
            .map(|(packet, reply)| ReplyNumbers { packet, reply });
        all.filter(|one| !lost_down.contains(&one.reply)).collect()
    }

    fn lost(ways: &StampWays) -> (Option<u64>, Option<u64>, u64) {
        (ways.up.lost, ways.down.lost, ways.undecided)
    }

    #[test]
    fn losses_are_told_apart_by_the_numbers_of_a_reflector_that_keeps_state() {
        for (lost_up, lost_down, expected) in [
            (&[][..], &[][..], (Some(0), Some(0), 0)),
            (&[3, 4, 50], &[], (Some(3), Some(0), 0)),
            (&[3], &[10, 11], (Some(1), Some(2), 0)),
            // The first packets: replies are numbered from 0 all the same.
            (&[0, 1], &[0], (Some(2), Some(1), 0)),
            // The last packets have no reply after them.
            (&[98, 99], &[5], (Some(0), None, 2)),
        ] {
            let found = ways(100, &replies(100, lost_up, lost_down), None, 0.95);
            let (up, down, undecided) = expected;
            match down {
                Some(_) => assert_eq!(
                    lost(&found),
                    (up, down, undecided),
                    "{lost_up:?} {lost_down:?}"
                ),
                // Nothing was lost on the way there before the last reply: its numbers do not tell.
                None => assert_eq!(lost(&found), (None, None, 3), "{lost_up:?}"),
            }
        }
    }

    #[test]
    fn without_numbers_of_its_own_the_counts_of_a_reflector_decide_or_nothing_does() {
        let mut all: Vec<ReplyNumbers> = (0..100)
            .map(|packet| ReplyNumbers {
                packet,
                reply: packet,
            })
            .collect();
        all.retain(|one| ![20, 21, 60].contains(&one.packet));
        let undecided = ways(100, &all, None, 0.95);
        assert_eq!(undecided.numbering, Some(ReflectorNumbering::OfSender));
        assert_eq!(lost(&undecided), (None, None, 3));
        assert_eq!(
            (undecided.up.duplicate, undecided.down.reordered),
            (Some(0), Some(0))
        );
        let mut twice = all.clone();
        twice.insert(5, all[4]);
        twice.swap(30, 31);
        let twice = ways(100, &twice, None, 0.95);
        assert_eq!((twice.up.duplicate, twice.down.duplicate), (None, None));
        assert_eq!((twice.up.reordered, twice.down.reordered), (None, None));
        let counts = |received| {
            Some(SessionCounts {
                sent: 100,
                received,
            })
        };
        assert_eq!(
            lost(&ways(100, &all, counts(98), 0.95)),
            (Some(2), Some(1), 0)
        );
        // Counts of all sessions together are none of this one's.
        assert_eq!(lost(&ways(100, &all, counts(5000), 0.95)), (None, None, 3));
        let complete: Vec<_> = (0..100)
            .map(|packet| ReplyNumbers {
                packet,
                reply: packet,
            })
            .collect();
        assert_eq!(
            lost(&ways(100, &complete, None, 0.95)),
            (Some(0), Some(0), 0)
        );
    }

    #[test]
    fn duplicates_and_reordering_belong_to_the_direction_in_which_they_happened() {
        let mut all = replies(100, &[7], &[]);
        // The reply 30 twice, and 41 before 40.
        all.insert(31, all[30]);
        all.swap(41, 42);
        // The packet 60 reached the reflector twice: its numbers are one further from there on.
        let at = all.iter().position(|one| one.packet == 60).unwrap();
        for one in &mut all[at + 1..] {
            one.reply += 1;
        }
        let twice = ReplyNumbers {
            packet: 60,
            reply: all[at].reply + 1,
        };
        all.insert(at + 1, twice);
        // The packets 80 and 81 changed places on the way there.
        let at = all.iter().position(|one| one.packet == 80).unwrap();
        (all[at].packet, all[at + 1].packet) = (81, 80);
        let found = ways(100, &all, None, 0.95);
        assert_eq!(
            (found.up.duplicate, found.down.duplicate),
            (Some(1), Some(1))
        );
        assert_eq!(
            (found.up.reordered, found.down.reordered),
            (Some(1), Some(1))
        );
        assert_eq!(lost(&found), (Some(1), Some(0), 0));
    }

    #[test]
    fn what_arrives_twice_hides_no_loss_and_makes_none() {
        // The packet 10 reached the reflector twice, and the second reply was not read: its numbers are one further from there on.
        let mut all = replies(100, &[], &[]);
        for one in &mut all[11..] {
            one.reply += 1;
        }
        assert_eq!(lost(&ways(100, &all, None, 0.95)), (Some(0), Some(0), 0));
        let counts = |received| {
            Some(SessionCounts {
                sent: 100,
                received,
            })
        };
        assert_eq!(
            lost(&ways(100, &all, counts(101), 0.95)),
            (Some(0), Some(0), 0)
        );
        // With its reply, and two packets lost on their way there.
        let mut all = replies(100, &[50, 51], &[]);
        let twice = ReplyNumbers {
            packet: 10,
            reply: 11,
        };
        for one in &mut all[11..] {
            one.reply += 1;
        }
        all.insert(11, twice);
        assert_eq!(lost(&ways(100, &all, None, 0.95)), (Some(2), Some(0), 0));
        assert_eq!(
            lost(&ways(100, &all, counts(99), 0.95)),
            (Some(2), Some(0), 0)
        );
    }

    #[test]
    fn numbers_that_are_not_of_this_session_decide_nothing() {
        // One counter for all senders, which is far ahead.
        let all: Vec<_> = (0..100)
            .filter(|packet| packet % 10 != 3)
            .map(|packet| ReplyNumbers {
                packet,
                reply: 5000 + 3 * packet,
            })
            .collect();
        assert_eq!(lost(&ways(100, &all, None, 0.95)), (None, None, 10));
        assert_eq!(ways(100, &[], None, 0.95).undecided, 100);
    }
}
