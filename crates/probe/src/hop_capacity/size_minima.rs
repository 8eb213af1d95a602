//! The round-trip times of a hop by size, and their minima.

use super::reading::HopReading;
use crate::cannot_tell::CannotTell;
use caudal_stats::midpoint_median;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum sizes for a slope.
pub(super) const MIN_SIZES: usize = 4;
/// Minimum difference between the largest and the smallest size, bytes.
const MIN_SPAN_BYTES: u64 = 300;
/// Maximum plausible round-trip time, ns: a minute.
const MAX_RTT_NS: u64 = 60_000_000_000;

/// How the size of the ICMP replies was accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyHandling {
    /// All replies used have one size, which cancels out: right on any path.
    OneSize,
    /// Replies grow with the probes, and their bytes were added to those of the probes: right where both directions of each link are
    /// of one rate.
    AddedToProbe,
}

/// The answers to probes of one size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnswersOfSize {
    /// The bytes serialised, those of the reply included where replies vary.
    pub(super) bytes: f64,
    /// The round-trip times, ns, ascending; at least one.
    pub(super) rtts_ns: Vec<f64>,
}

/// The answers of one hop, by size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SizeMinima {
    pub(super) sizes: Vec<AnswersOfSize>,
    pub(super) reply: ReplyHandling,
}

impl SizeMinima {
    /// The answers among `readings` of one hop and one priming, by size.
    ///
    /// # Errors
    /// When there are no answers, too few sizes, or all answers are equal.
    pub(super) fn from_readings<'a>(
        readings: impl Iterator<Item = &'a HopReading>,
    ) -> Result<Self, CannotTell> {
        let answers: Vec<(u32, u32, u64)> = readings
            .filter_map(|reading| {
                let answer = reading.answer?;
                Some((reading.probe_bytes, answer.reply_bytes, answer.rtt_ns))
            })
            .filter(|(_, _, rtt_ns)| *rtt_ns <= MAX_RTT_NS)
            .collect();
        let (_, _, first) = *answers.first().ok_or(CannotTell::NoReadings)?;
        let minima = Self::with_one_reply_size(&answers).unwrap_or_else(|| {
            let sizes = answers
                .iter()
                .map(|(probe, reply, rtt)| (u64::from(*probe) + u64::from(*reply), *rtt));
            Self::new(sizes, ReplyHandling::AddedToProbe)
        });
        minima.check_span()?;
        if answers.len() > 1 && answers.iter().all(|(_, _, rtt_ns)| *rtt_ns == first) {
            return Err(CannotTell::AllEqual);
        }
        Ok(minima)
    }

    /// The answers of the most frequent reply size, if these alone suffice.
    fn with_one_reply_size(answers: &[(u32, u32, u64)]) -> Option<Self> {
        let mut probes_of_reply: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (probe, reply, _) in answers {
            probes_of_reply.entry(*reply).or_default().insert(*probe);
        }
        let (size, _) = probes_of_reply
            .iter()
            .max_by_key(|(_, probes)| probes.len())?;
        let alike = answers
            .iter()
            .filter(|(_, reply, _)| reply == size)
            .map(|(probe, _, rtt)| (u64::from(*probe), *rtt));
        let minima = Self::new(alike, ReplyHandling::OneSize);
        minima.check_span().is_ok().then_some(minima)
    }

    fn new(answers: impl Iterator<Item = (u64, u64)>, reply: ReplyHandling) -> Self {
        let mut by_size: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (bytes, rtt_ns) in answers {
            by_size.entry(bytes).or_default().push(rtt_ns as f64);
        }
        let sizes = by_size.into_iter().map(|(bytes, mut rtts_ns)| {
            rtts_ns.sort_unstable_by(f64::total_cmp);
            AnswersOfSize {
                bytes: bytes as f64,
                rtts_ns,
            }
        });
        Self {
            sizes: sizes.collect(),
            reply,
        }
    }

    fn check_span(&self) -> Result<(), CannotTell> {
        if self.sizes.len() < MIN_SIZES {
            return Err(CannotTell::TooFew {
                what: "sizes with an answer",
                have: self.sizes.len() as u64,
                need: MIN_SIZES as u64,
            });
        }
        let span_bytes = (self.sizes[self.sizes.len() - 1].bytes - self.sizes[0].bytes) as u64;
        if span_bytes < MIN_SPAN_BYTES {
            return Err(CannotTell::SizesTooAlike {
                span_bytes,
                need_bytes: MIN_SPAN_BYTES,
            });
        }
        Ok(())
    }

    /// The number of answers.
    pub(super) fn readings(&self) -> u64 {
        self.sizes
            .iter()
            .map(|size| size.rtts_ns.len() as u64)
            .sum()
    }

    /// Leaves out the sizes whose minimum is above that of a larger size by more than chance: these saw queueing only.
    ///
    /// Chance is three times the median distance of a size's two smallest times, and at least `resolution_ns`. At least as many sizes as a
    /// slope takes stay, or all.
    #[must_use]
    pub(super) fn consistent(self, resolution_ns: f64) -> Self {
        let gaps = self.sizes.iter().filter_map(|size| {
            let second = size.rtts_ns.get(1)?;
            Some(second - size.rtts_ns[0])
        });
        let slack = (3.0 * midpoint_median(gaps.collect()).unwrap_or(0.0)).max(resolution_ns);
        let mut least = f64::INFINITY;
        let mut kept: Vec<AnswersOfSize> = Vec::with_capacity(self.sizes.len());
        for size in self.sizes.iter().rev() {
            if size.rtts_ns[0] <= least + slack {
                kept.push(size.clone());
            }
            least = least.min(size.rtts_ns[0]);
        }
        kept.reverse();
        let consistent = Self {
            sizes: kept,
            reply: self.reply,
        };
        match consistent.check_span() {
            Ok(()) => consistent,
            Err(_) => self,
        }
    }
}
