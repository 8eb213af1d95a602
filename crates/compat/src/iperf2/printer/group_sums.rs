//! The sums of all groups: those of intervals, of what follows the last interval, and of whole tests.

use super::counts::SpanCounts;
use super::flow::ShownFlow;
use super::sum::GroupSum;
use std::collections::BTreeMap;

/// The sums of groups of flows: of the flows of a client, or of the two directions of a connection.
#[derive(Debug, Default)]
pub(super) struct GroupSums {
    /// The number of flows in each group.
    sizes: BTreeMap<u64, u32>,
    /// The sums of intervals that are not complete: by group, and by the end of the interval in ms.
    intervals: BTreeMap<(u64, u64), GroupSum>,
    /// What the complete sums of intervals add up to.
    passed: BTreeMap<u64, GroupSum>,
    totals: BTreeMap<u64, GroupSum>,
}

/// The sums that are complete when the last flow of a group has ended.
#[derive(Debug, Clone)]
pub(super) struct CompleteSum {
    /// The sum over the time after the last interval.
    pub(super) rest: GroupSum,
    /// The sum over the whole test.
    pub(super) total: GroupSum,
}

impl GroupSums {
    /// Takes note that a group has at least this many flows.
    pub(super) fn expect(&mut self, group: u64, flows: u32) {
        let size = self.sizes.entry(group).or_insert(0);
        *size = (*size).max(flows);
    }

    fn size(&self, group: u64) -> u32 {
        self.sizes.get(&group).copied().unwrap_or(1)
    }

    /// Adds the counts of a flow over an interval: the sum, when it is complete and over more than one flow.
    pub(super) fn add_interval(
        &mut self,
        group: u64,
        flow: &ShownFlow,
        counts: &SpanCounts,
    ) -> Option<GroupSum> {
        let size = self.size(group);
        if size < 2 {
            return None;
        }
        let key = (group, (counts.end_s * 1000.0).round() as u64);
        let sum = self.intervals.entry(key).or_default();
        sum.add(flow, counts);
        if sum.flows < size {
            return None;
        }
        let sum = self.intervals.remove(&key)?;
        self.passed.entry(group).or_default().extend(&sum);
        Some(sum)
    }

    /// Adds the counts of a flow over the whole test: the sums, when they are complete and over more than one flow.
    pub(super) fn add_total(
        &mut self,
        group: u64,
        flow: &ShownFlow,
        counts: &SpanCounts,
    ) -> Option<CompleteSum> {
        let size = self.size(group);
        if size < 2 {
            self.sizes.remove(&group);
            return None;
        }
        let total = self.totals.entry(group).or_default();
        total.add(flow, counts);
        if total.flows < size {
            return None;
        }
        let total = self.totals.remove(&group)?;
        self.sizes.remove(&group);
        self.intervals.retain(|(of, _), _| *of != group);
        let passed = self.passed.remove(&group).unwrap_or_default();
        Some(CompleteSum {
            rest: total.since(&passed),
            total,
        })
    }
}
