//! Counts of packets by their marks as they arrived.

use super::ecn::Ecn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number of code points.
const MAX_CODE_POINTS: u8 = 64;

/// Packets by their marks as they arrived. Packets that the kernel handed over without their marks are in no count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ArrivedMarks {
    /// By their DSCP, in its order.
    pub dscp: Vec<DscpCount>,
    /// By their ECN field.
    pub ecn: EcnCounts,
}

/// Packets that arrived with one DSCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DscpCount {
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The packets.
    pub packets: u64,
}

/// Packets by their ECN field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EcnCounts {
    /// Not ECN-capable.
    pub not_ect: u64,
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// Congestion experienced.
    pub ce: u64,
}

impl EcnCounts {
    /// The packets that arrived with this field.
    #[must_use]
    pub const fn of(&self, ecn: Ecn) -> u64 {
        match ecn {
            Ecn::NotEct => self.not_ect,
            Ecn::Ect0 => self.ect0,
            Ecn::Ect1 => self.ect1,
            Ecn::Ce => self.ce,
        }
    }

    const fn of_mut(&mut self, ecn: Ecn) -> &mut u64 {
        match ecn {
            Ecn::NotEct => &mut self.not_ect,
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        }
    }

    /// All of them.
    #[must_use]
    pub fn packets(&self) -> u64 {
        let all = Ecn::ALL.map(|ecn| self.of(ecn));
        all.into_iter().fold(0, u64::saturating_add)
    }
}

impl ArrivedMarks {
    /// All packets counted.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.ecn.packets()
    }

    /// The packets that arrived with this DSCP.
    #[must_use]
    pub fn of_dscp(&self, dscp: u8) -> u64 {
        let found = self.dscp.iter().filter(|one| one.dscp == dscp);
        found.fold(0, |sum, one| sum.saturating_add(one.packets))
    }

    /// Adds the counts of another flow.
    pub fn add(&mut self, other: &Self) {
        for ecn in Ecn::ALL {
            let sum = self.ecn.of(ecn).saturating_add(other.ecn.of(ecn));
            *self.ecn.of_mut(ecn) = sum;
        }
        // A peer may name what is no code point.
        let known = other.dscp.iter().filter(|one| one.dscp < MAX_CODE_POINTS);
        for one in known {
            match self.dscp.iter_mut().find(|own| own.dscp == one.dscp) {
                Some(own) => own.packets = own.packets.saturating_add(one.packets),
                None => self.dscp.push(*one),
            }
        }
        self.dscp.sort_by_key(|one| one.dscp);
    }

    /// The sum of all; `None` of none, or of nothing.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut sum = Self::default();
        for one in all {
            sum.add(one);
        }
        (sum.packets() > 0).then_some(sum)
    }
}

/// A counter of packets by their TOS byte (IPv4) or traffic class (IPv6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MarkCounter {
    /// Of each byte seen, of which there are a few, at most 256.
    counts: Vec<(u8, u64)>,
}

impl MarkCounter {
    /// Adds packets that arrived with this byte.
    #[inline]
    pub fn add(&mut self, tos: u8, packets: u64) {
        match self.counts.iter_mut().find(|(known, _)| *known == tos) {
            Some((_, count)) => *count += packets,
            None => self.counts.push((tos, packets)),
        }
    }

    /// The packets marked CE so far.
    #[must_use]
    pub fn ce(&self) -> u64 {
        let marked = self.counts.iter();
        let marked = marked.filter(|(tos, _)| Ecn::from_tos(*tos) == Ecn::Ce);
        marked.map(|(_, packets)| packets).sum()
    }

    /// The counts; `None` when nothing was counted.
    #[must_use]
    pub fn counts(&self) -> Option<ArrivedMarks> {
        let each = self.counts.iter().map(|&(tos, packets)| {
            let mut marks = ArrivedMarks {
                dscp: vec![DscpCount {
                    dscp: tos >> 2,
                    packets,
                }],
                ..ArrivedMarks::default()
            };
            *marks.ecn.of_mut(Ecn::from_tos(tos)) = packets;
            marks
        });
        ArrivedMarks::sum(&each.collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_code_point_and_by_ecn_field() {
        let mut counter = MarkCounter::default();
        assert_eq!(counter.counts(), None);
        // EF with ECT(0), EF with CE, and the default.
        counter.add(0xba, 5);
        counter.add(0xbb, 2);
        counter.add(0, 1);
        let marks = counter.counts().unwrap();
        let counts: Vec<_> = marks
            .dscp
            .iter()
            .map(|one| (one.dscp, one.packets))
            .collect();
        assert_eq!(counts, [(0, 1), (46, 7)]);
        let expected = EcnCounts {
            not_ect: 1,
            ect0: 5,
            ect1: 0,
            ce: 2,
        };
        assert_eq!((marks.ecn, counter.ce(), marks.packets()), (expected, 2, 8));
        let twice = ArrivedMarks::sum([&marks, &marks]).unwrap();
        assert_eq!((twice.packets(), twice.of_dscp(46)), (16, 14));
    }

    #[test]
    fn counts_that_a_peer_made_up_add_up_without_overflow() {
        let absurd = ArrivedMarks {
            dscp: vec![
                DscpCount {
                    dscp: 200,
                    packets: u64::MAX
                };
                1000
            ],
            ecn: EcnCounts {
                ce: u64::MAX,
                not_ect: u64::MAX,
                ..EcnCounts::default()
            },
        };
        let sum = ArrivedMarks::sum([&absurd, &absurd]).unwrap();
        assert_eq!((sum.packets(), sum.dscp.len()), (u64::MAX, 0));
    }
}
