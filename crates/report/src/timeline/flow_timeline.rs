//! One flow over time: its intervals, without gaps filled in.

use super::quantities::length_s;
use caudal_core::interval::Interval;
use caudal_core::plan::PlanKind;

/// Maximum difference for two times to count as one, as a fraction of an interval.
pub(super) const TIME_SLACK: f64 = 0.05;

/// A flow over time.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowTimeline {
    /// The name shown.
    pub name: String,
    /// The workload.
    pub kind: PlanKind,
    /// Its intervals, ascending, none within another. Their goodput is what the sender handed over where the log of a
    /// sender is all there is; the name says so.
    pub intervals: Vec<Interval>,
}

/// The end of the last interval of any of the flows, s; `None` without intervals.
#[must_use]
pub fn end_of(flows: &[FlowTimeline]) -> Option<f64> {
    let ends = flows.iter().filter_map(|flow| flow.intervals.last());
    ends.map(|last| last.end_s).max_by(f64::total_cmp)
}

impl FlowTimeline {
    /// `quantity` as a step line: the value of each interval from its beginning, NaN where a gap begins, and the last
    /// value once more at the end.
    #[must_use]
    pub fn steps(&self, quantity: impl Fn(&Interval) -> Option<f64>) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (nth, interval) in self.intervals.iter().enumerate() {
            let value = quantity(interval).unwrap_or(f64::NAN);
            points.push((interval.start_s, value));
            let next = self.intervals.get(nth + 1);
            if next.is_none_or(|next| is_gap(interval, next)) {
                points.push((interval.end_s, value));
                if next.is_some() {
                    points.push((interval.end_s, f64::NAN));
                }
            }
        }
        points
    }

    /// `quantity` at the end of each interval, with NaN in every gap.
    #[must_use]
    pub fn readings(&self, quantity: impl Fn(&Interval) -> Option<f64>) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        for (nth, interval) in self.intervals.iter().enumerate() {
            points.push((interval.end_s, quantity(interval).unwrap_or(f64::NAN)));
            let next = self.intervals.get(nth + 1);
            if next.is_some_and(|next| is_gap(interval, next)) {
                points.push((interval.end_s, f64::NAN));
            }
        }
        points
    }

    /// The number of gaps between its intervals.
    #[must_use]
    pub fn gaps(&self) -> usize {
        let pairs = self.intervals.windows(2);
        pairs.filter(|pair| is_gap(&pair[0], &pair[1])).count()
    }

    /// The mean goodput between each two consecutive `edges` (s), bit/s; `None` where a part of that time is unknown.
    #[must_use]
    pub fn rates_between(&self, edges: &[f64]) -> Vec<Option<f64>> {
        let mean_rate = |pair: &[f64]| {
            let (from, to) = (pair[0], pair[1]);
            let (mut bits, mut known_s) = (0.0, 0.0);
            for interval in &self.intervals {
                let shared_s = interval.end_s.min(to) - interval.start_s.max(from);
                if let (true, Some(rate)) = (shared_s > 0.0, interval.goodput_bps) {
                    bits += rate * shared_s;
                    known_s += shared_s;
                }
            }
            (known_s >= (to - from) * (1.0 - TIME_SLACK)).then(|| bits / known_s)
        };
        edges.windows(2).map(mean_rate).collect()
    }

    /// The mean goodput over the intervals that are not omitted, bit/s.
    #[must_use]
    pub fn mean_rate(&self) -> Option<f64> {
        let (mut bits, mut known_s) = (0.0, 0.0);
        for interval in self.intervals.iter().filter(|interval| !interval.omitted) {
            if let Some(rate) = interval.goodput_bps {
                bits += rate * length_s(interval);
                known_s += length_s(interval);
            }
        }
        (known_s > 0.0).then(|| bits / known_s)
    }

    /// The values of `quantity` that are known.
    pub fn known(&self, quantity: impl Fn(&Interval) -> Option<f64>) -> impl Iterator<Item = f64> {
        self.intervals.iter().filter_map(quantity)
    }

    /// The sum of the values of `quantity` that are known; `None` without any.
    #[must_use]
    pub fn sum(&self, quantity: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
        self.known(quantity).reduce(|sum, one| sum + one)
    }

    /// The maximum of `quantity`; `None` where it is unknown.
    #[must_use]
    pub fn max(&self, quantity: impl Fn(&Interval) -> Option<f64>) -> Option<f64> {
        self.known(quantity).max_by(f64::total_cmp)
    }
}

/// `true` when time between two intervals is not covered.
fn is_gap(earlier: &Interval, later: &Interval) -> bool {
    let shorter_s = length_s(earlier).min(length_s(later)).max(1e-9);
    later.start_s - earlier.end_s > TIME_SLACK * shorter_s
}

#[cfg(test)]
mod tests {
    use crate::timeline::flows_of_run;
    use crate::timeline::quantities::{cwnd_bytes, loss, retransmits};
    use crate::timeline::test_intervals::{interval, run_of};
    use caudal_core::interval::TcpInterval;

    #[test]
    fn a_missing_interval_is_a_gap_and_not_a_zero() {
        let run = run_of(vec![
            interval(0.0, 1.0, 125),
            interval(1.0, 2.0, 250),
            interval(3.0, 4.0, 125),
        ]);
        let flow = &flows_of_run(&run, 0.0)[0];
        assert_eq!(flow.gaps(), 1);
        let steps = flow.steps(|interval| interval.goodput_bps);
        assert_eq!(steps[..3], [(0.0, 1000.0), (1.0, 2000.0), (2.0, 2000.0)]);
        assert!(steps[3].0 == 2.0 && steps[3].1.is_nan());
        assert_eq!(steps[4..], [(3.0, 1000.0), (4.0, 1000.0)]);
        assert_eq!(
            flow.rates_between(&[0.0, 2.0, 3.0, 4.0]),
            [Some(1500.0), None, Some(1000.0)]
        );
    }

    #[test]
    fn a_quantity_that_is_not_reported_is_absent() {
        let mut one = interval(0.0, 1.0, 125);
        one.tcp = Some(TcpInterval {
            retransmits: Some(3),
            ..TcpInterval::default()
        });
        let flow = &flows_of_run(&run_of(vec![one]), 0.0)[0];
        assert_eq!(retransmits(&flow.intervals[0]), Some(3.0));
        assert_eq!(cwnd_bytes(&flow.intervals[0]), None);
        assert_eq!(loss(&flow.intervals[0]), None);
    }
}
