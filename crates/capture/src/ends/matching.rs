//! Packets of one direction, found in both captures.

use super::clock::TimeSpan;
use super::recorder::{DirectionMarks, PacketMark};

/// A packet that both captures hold: its times, as signed ns of each clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Crossing {
    /// The time at the first point.
    pub(crate) first_ns: i64,
    /// The time at the second point.
    pub(crate) second_ns: i64,
}

/// The packets of one direction at both points.
#[derive(Debug, Clone, Default)]
pub(crate) struct Matches {
    /// Those found at both without doubt, in the order of the first point.
    pub(crate) crossings: Vec<Crossing>,
    pub(crate) both: u64,
    /// At the first point only.
    pub(crate) only_first: UnmatchedPackets,
    /// At the second point only.
    pub(crate) only_second: UnmatchedPackets,
}

/// The packets of one direction that one point has and the other lacks.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnmatchedPackets {
    /// Packets that the other point does not have at all.
    alone: Vec<PacketMark>,
    /// Packets that the other point has as well, but less often.
    surplus: Vec<PacketMark>,
    /// Frames that were the one before them once more; they are not in the other lists.
    repeats: u64,
}

/// The time from one point to the other by the clocks of both, ns: the shortest and the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passage {
    pub(crate) min_ns: i64,
    pub(crate) max_ns: i64,
}

/// The packets in the order of their marks, with sequence numbers from the SYN on where both captures hold it.
fn ordered(marks: &DirectionMarks, isn: Option<u32>) -> Vec<PacketMark> {
    let relative = |mark: &PacketMark| PacketMark {
        sequence: mark.sequence.wrapping_sub(isn.unwrap_or(0)),
        ..*mark
    };
    let mut packets: Vec<PacketMark> = marks.packets.iter().map(relative).collect();
    packets.sort_unstable();
    packets
}

const fn key(mark: &PacketMark) -> (u32, u32, u32, u32) {
    (mark.sequence, mark.stamp, mark.other, mark.bytes)
}

/// Finds the packets of one direction in both captures.
pub(crate) fn match_packets(first: &DirectionMarks, second: &DirectionMarks) -> Matches {
    let (isn_one, isn_two) = match (first.isn, second.isn) {
        (Some(one), Some(two)) => (Some(one), Some(two)),
        _ => (None, None),
    };
    let (one, two) = (ordered(first, isn_one), ordered(second, isn_two));
    let mut matches = Matches::default();
    let (mut rest_one, mut rest_two) = (one.as_slice(), two.as_slice());
    while let Some(smaller) = rest_one
        .first()
        .map(key)
        .into_iter()
        .chain(rest_two.first().map(key))
        .min()
    {
        let group =
            |rest: &[PacketMark]| rest.iter().take_while(|mark| key(mark) == smaller).count();
        let (group_one, after_one) = rest_one.split_at(group(rest_one));
        let (group_two, after_two) = rest_two.split_at(group(rest_two));
        (rest_one, rest_two) = (after_one, after_two);
        let common = group_one.len().min(group_two.len());
        matches.both += common as u64;
        // Of packets with one mark it is not known which was lost: they tell no time.
        if group_one.len() == group_two.len() {
            matches
                .crossings
                .extend(group_one.iter().zip(group_two).map(|(one, two)| Crossing {
                    first_ns: one.at_ns.cast_signed(),
                    second_ns: two.at_ns.cast_signed(),
                }));
        }
        matches.only_first.add(&group_one[common..], common);
        matches.only_second.add(&group_two[common..], common);
    }
    matches.only_first.repeats = first.repeats;
    matches.only_second.repeats = second.repeats;
    matches
        .crossings
        .sort_unstable_by_key(|crossing| crossing.first_ns);
    matches
}

impl Matches {
    /// From the first point to the second; `None` without a packet that was found at both.
    pub(crate) fn passage(&self) -> Option<Passage> {
        let times = self
            .crossings
            .iter()
            .map(|crossing| crossing.second_ns - crossing.first_ns);
        Some(Passage {
            min_ns: times.clone().min()?,
            max_ns: times.max()?,
        })
    }

    /// The times at which the first point saw packets that the second saw as well, and the other way round.
    pub(crate) fn spans(&self) -> [Option<TimeSpan>; 2] {
        let times: [fn(&Crossing) -> i64; 2] =
            [|crossing| crossing.first_ns, |crossing| crossing.second_ns];
        times.map(|time| {
            let mut span = None;
            for crossing in &self.crossings {
                TimeSpan::include(&mut span, time(crossing));
            }
            span
        })
    }
}

impl Passage {
    /// The same from the second point to the first.
    pub(crate) const fn reversed(self) -> Self {
        Self {
            min_ns: -self.max_ns,
            max_ns: -self.min_ns,
        }
    }
}

impl UnmatchedPackets {
    /// Takes in packets of one mark, of which the other point has `common`.
    fn add(&mut self, marks: &[PacketMark], common: usize) {
        let list = if common > 0 {
            &mut self.surplus
        } else {
            &mut self.alone
        };
        list.extend_from_slice(marks);
    }

    /// Packets and bytes that left here and that the other point should have seen.
    pub(crate) fn lost(&self, covered: &Coverage) -> (u64, u64) {
        covered.count(self.alone.iter().chain(&self.surplus))
    }

    /// Packets that arrived here and that the other point should have seen leaving.
    pub(crate) fn unsent(&self, covered: &Coverage) -> u64 {
        covered.count(self.alone.iter()).0
    }

    /// Packets that arrived here more often than they left; `left` is what left and did not arrive.
    pub(crate) fn duplicated(&self, left: &Self) -> u64 {
        // What holds frames twice already where they leave was captured twice.
        self.surplus.len() as u64 + self.repeats.saturating_sub(left.repeats)
    }
}

/// The time in which what passes one point is seen by the other as well.
///
/// A capture that holds a frame before and a frame after, of any flow, was running in between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coverage {
    /// Between two packets of this direction that both points saw, at the point where the packets are.
    pub(crate) between: Option<TimeSpan>,
    /// All frames of the other capture.
    pub(crate) other: Option<TimeSpan>,
    /// From this point to the other.
    pub(crate) passage: Option<Passage>,
}

impl Coverage {
    fn holds(&self, at_ns: i64) -> bool {
        let by_other = self
            .other
            .zip(self.passage)
            .is_some_and(|(other, passage)| {
                other.contains(at_ns + passage.min_ns) && other.contains(at_ns + passage.max_ns)
            });
        by_other || self.between.is_some_and(|span| span.contains(at_ns))
    }

    /// Packets and bytes in this time.
    fn count<'a>(&self, marks: impl Iterator<Item = &'a PacketMark>) -> (u64, u64) {
        marks
            .filter(|mark| self.holds(mark.at_ns.cast_signed()))
            .fold((0, 0), |sum, mark| {
                (sum.0 + 1, sum.1 + u64::from(mark.bytes))
            })
    }
}
