//! The flows and the findings that matter most, of any number.

use crate::model::{CapturedFlow, Finding, FoldedFlows};
use caudal_core::units::ByteCount;
use std::cmp::{Ordering, Reverse};

/// The flows with the most bytes, and the sum of the others.
#[derive(Debug, Clone)]
pub(crate) struct FlowRanking {
    max: usize,
    kept: Vec<CapturedFlow>,
    /// The last of those kept: nothing behind it is.
    last: Option<FlowKey>,
    folded: FoldedFlows,
}

/// What flows are ordered by: the most bytes first, then their numbers.
type FlowKey = (Reverse<ByteCount>, u64);

fn flow_key(flow: &CapturedFlow) -> FlowKey {
    (Reverse(flow.bytes), flow.number)
}

impl FoldedFlows {
    fn add(&mut self, flow: &CapturedFlow) {
        self.flows += 1;
        self.frames += flow.frames;
        self.bytes += flow.bytes;
        count(&mut self.transports, flow.transport);
        if let Some(application) = flow.application {
            count(&mut self.applications, application);
        }
    }
}

impl FlowRanking {
    /// A ranking that keeps `max` flows.
    pub(crate) const fn new(max: usize) -> Self {
        Self {
            max,
            kept: Vec::new(),
            last: None,
            folded: FoldedFlows {
                flows: 0,
                frames: 0,
                bytes: ByteCount::ZERO,
                transports: Vec::new(),
                applications: Vec::new(),
            },
        }
    }

    /// Takes in a flow.
    pub(crate) fn push(&mut self, flow: CapturedFlow) {
        if self.last.is_some_and(|last| flow_key(&flow) > last) {
            self.folded.add(&flow);
            return;
        }
        self.kept.push(flow);
        if self.kept.len() > self.max.saturating_mul(2).max(64) {
            self.fold();
        }
    }

    /// Adds up the flows beyond the first.
    fn fold(&mut self) {
        self.kept.sort_by_key(flow_key);
        if self.kept.len() >= self.max {
            for flow in self.kept.drain(self.max..) {
                self.folded.add(&flow);
            }
            self.last = self.kept.last().map(flow_key);
        }
    }

    /// The flows in order, and the others.
    pub(crate) fn finish(mut self) -> (Vec<CapturedFlow>, Option<FoldedFlows>) {
        self.fold();
        let folded = (self.folded.flows > 0).then_some(self.folded);
        (self.kept, folded)
    }
}

fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, of: T) {
    match counts.iter_mut().find(|(known, _)| *known == of) {
        Some((_, count)) => *count += 1,
        None => counts.push((of, 1)),
    }
}

/// The findings that matter most.
#[derive(Debug, Clone)]
pub(crate) struct FindingRanking {
    max: usize,
    kept: Vec<Finding>,
    is_cut: bool,
    left_out: u64,
}

/// The most important first; of one kind the most frequent, then in the order of the flows.
fn order(one: &Finding, other: &Finding) -> Ordering {
    let key = |finding: &Finding| (Reverse(finding.count), finding.flow);
    let by_kind = (one.severity, &one.code).cmp(&(other.severity, &other.code));
    by_kind.then_with(|| key(one).cmp(&key(other)))
}

impl FindingRanking {
    /// A ranking that keeps `max` findings.
    pub(crate) const fn new(max: usize) -> Self {
        Self {
            max,
            kept: Vec::new(),
            is_cut: false,
            left_out: 0,
        }
    }

    /// Takes in a finding.
    pub(crate) fn push(&mut self, finding: Finding) {
        // The first `max` are in order after a cut: nothing behind the last of them is kept.
        let last = self.max.checked_sub(1).and_then(|at| self.kept.get(at));
        if self.is_cut && last.is_some_and(|last| order(last, &finding).is_lt()) {
            self.left_out += 1;
            return;
        }
        self.kept.push(finding);
        if self.kept.len() > self.max.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.kept.sort_by(order);
        self.is_cut = true;
        self.left_out += self.kept.len().saturating_sub(self.max) as u64;
        self.kept.truncate(self.max);
    }

    /// The findings in order, and how many more there are.
    pub(crate) fn finish(mut self) -> (Vec<Finding>, u64) {
        self.cut();
        (self.kept, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::FindingCode;

    #[test]
    fn findings_are_those_of_a_full_sort_whatever_their_order() {
        let finding = |at: u64| {
            let code = match at % 3 {
                0 => FindingCode::Timeouts,
                1 => FindingCode::OutOfOrder,
                _ => FindingCode::MidFlow,
            };
            let mut finding = Finding::new(code, at.to_string());
            (finding.count, finding.flow) = (at * 7_919 % 101, Some(at));
            finding
        };
        for max in [0, 1, 40] {
            let mut ranking = FindingRanking::new(max);
            let mut all: Vec<Finding> = (0..1_000).map(finding).collect();
            for finding in &all {
                ranking.push(finding.clone());
            }
            all.sort_by(order);
            all.truncate(max);
            assert_eq!(ranking.finish(), (all, 1_000 - max as u64));
        }
    }
}
