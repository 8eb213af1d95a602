//! How flows fare beside each other: fairness, harm, starvation and how soon they settle.
//!
//! Over series of intervals; where a series has a hole nothing is known, and a hole counts neither for nor against a flow.

/// What arrived between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// When it begins, in seconds from any moment.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// Payload bytes that arrived in it.
    pub bytes: f64,
}

impl Stretch {
    /// Its length in seconds; `None` unless it has one.
    fn length(&self) -> Option<f64> {
        let length = self.end_s - self.start_s;
        (length > 0.0 && length.is_finite() && self.bytes.is_finite()).then_some(length)
    }

    /// Payload bits per second; `None` for one without length.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.length().map(|length| self.bytes * 8.0 / length)
    }
}

/// The part of a flow's fair share below which it starves, unless told otherwise.
pub const STARVED_BELOW: f64 = 0.1;

/// Jain's fairness index: `(Σx)²/(n·Σx²)`, 1 when all are equal, 1/n when one has everything.
///
/// `None` for no values, and when all are zero. For two flows it never falls below 0.5, so it hides starvation. Source:
/// Jain, Chiu and Hawe, DEC-TR-301, 1984.
#[must_use]
pub fn jain(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// The part of what a flow has alone that it loses beside others: `(solo − contended)/solo`; `None` for a solo of 0.
///
/// Source: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index", HotNets 2019.
#[must_use]
pub fn harm(solo: f64, contended: f64) -> Option<f64> {
    (solo > 0.0).then(|| (solo - contended) / solo)
}

/// Harm for what is better the less there is of it, as delay: `(together − alone)/together`; `None` for none together.
///
/// Source: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index", HotNets 2019, section 4.
#[must_use]
pub fn harm_of_less(alone: f64, together: f64) -> Option<f64> {
    (together > 0.0 && together.is_finite()).then(|| (together - alone) / together)
}

/// A goodput over the fair share, both bit/s; `None` without a share.
#[must_use]
pub fn share_ratio(goodput: f64, fair: f64) -> Option<f64> {
    let ratio = goodput / fair;
    (fair > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// Max–min fair shares of `capacity` where some demand without limit (`None`), all in bit/s.
///
/// In the order of the demands. Source: Bertsekas and Gallager, "Data Networks", section 6.5.2.
#[must_use]
pub fn fair_shares(capacity: f64, demands: &[Option<f64>]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    let demand = |at: usize| demands[at].unwrap_or(f64::INFINITY).max(0.0);
    order.sort_by(|a, b| demand(*a).total_cmp(&demand(*b)));
    let mut shares = vec![0.0; demands.len()];
    let (mut left, mut flows) = (capacity.max(0.0), demands.len() as f64);
    for at in order {
        shares[at] = demand(at).min(left / flows);
        left -= shares[at];
        flows -= 1.0;
    }
    shares
}

/// The part of the time in which a flow got less than `below` of its `fair` share (bit/s), from 0 to 1.
///
/// Intervals count by their length. `None` without any, or without a share.
#[must_use]
pub fn time_starved(series: &[Stretch], fair: f64, below: f64) -> Option<f64> {
    let limit = limit(fair, below)?;
    let (mut starved, mut all) = (0.0, 0.0);
    for stretch in series {
        if let (Some(length), Some(rate)) = (stretch.length(), stretch.rate()) {
            all += length;
            if rate < limit {
                starved += length;
            }
        }
    }
    (all > 0.0).then(|| starved / all)
}

/// The longest time on end in which a flow got less than `below` of its `fair` share (bit/s), seconds.
///
/// A hole ends it, because nothing is known of what was in it. `None` without intervals, or without a share.
#[must_use]
pub fn longest_starvation(series: &[Stretch], fair: f64, below: f64) -> Option<f64> {
    let limit = limit(fair, below)?;
    let (mut longest, mut known) = (0.0_f64, false);
    // When the present starvation began and how far it reaches.
    let mut present: Option<(f64, f64)> = None;
    for stretch in series {
        let (Some(length), Some(rate)) = (stretch.length(), stretch.rate()) else {
            continue;
        };
        known = true;
        if rate >= limit {
            present = None;
            continue;
        }
        let from = match present {
            Some((from, to)) if follows(to, stretch.start_s, length) => from,
            _ => stretch.start_s,
        };
        present = Some((from, stretch.end_s));
        longest = longest.max(stretch.end_s - from);
    }
    known.then_some(longest)
}

fn limit(fair: f64, below: f64) -> Option<f64> {
    let limit = fair * below;
    (limit > 0.0 && limit.is_finite()).then_some(limit)
}

/// Whether an interval of `length` that begins at `start` joins on to one that ends at `end`.
fn follows(end: f64, start: f64, length: f64) -> bool {
    (start - end).abs() <= 0.1 * length
}

/// How long after its first interval a flow's rate had settled, seconds.
///
/// The settled rate is the mean over the second half of the series. The flow has settled at the beginning of the first
/// window of `window_s` seconds from which on the mean of every window lies within 10 % of it; windows begin where intervals
/// do, and those with a hole in them are passed over. `None` where that is later than half of the series, because then there is
/// no settled rate to speak of; where the settled rate is zero, and for a series shorter than four windows.
#[must_use]
pub fn convergence(series: &[Stretch], window_s: f64) -> Option<f64> {
    const WITHIN: f64 = 0.1;
    const WINDOWS: f64 = 4.0;
    let known: Vec<Stretch> = series
        .iter()
        .filter(|stretch| stretch.length().is_some())
        .copied()
        .collect();
    let (begin, end) = (known.first()?.start_s, known.last()?.end_s);
    if !(window_s > 0.0 && end - begin >= WINDOWS * window_s) {
        return None;
    }
    let half = f64::midpoint(begin, end);
    let late = known.iter().filter(|stretch| stretch.start_s >= half);
    let (bytes, time) = late.fold((0.0, 0.0), |(bytes, time), stretch| {
        (
            bytes + stretch.bytes,
            time + stretch.end_s - stretch.start_s,
        )
    });
    let settled = bytes * 8.0 / time;
    if !(settled > 0.0 && settled.is_finite()) {
        return None;
    }
    let mut since = None;
    for first in 0..known.len() {
        let Some(mean) = window_mean(&known[first..], window_s) else {
            continue;
        };
        let start = known[first].start_s;
        if (mean - settled).abs() > WITHIN * settled {
            since = None;
        } else if since.is_none() {
            since = Some(start);
        }
    }
    since
        .filter(|since| *since <= half)
        .map(|since| since - begin)
}

/// The mean rate over the first `window_s` seconds; `None` where the series is shorter or has a hole.
fn window_mean(series: &[Stretch], window_s: f64) -> Option<f64> {
    let begin = series.first()?.start_s;
    let (mut bytes, mut reached) = (0.0, begin);
    for stretch in series {
        let length = stretch.length()?;
        if !follows(reached, stretch.start_s, length) {
            return None;
        }
        bytes += stretch.bytes;
        reached = stretch.end_s;
        // Half an interval short is as near as intervals come.
        if reached - begin >= window_s - length / 2.0 {
            return Some(bytes * 8.0 / (reached - begin));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Intervals of a second, each with this many bit/s.
    fn seconds(rates: &[f64]) -> Vec<Stretch> {
        let stretch = |(at, rate): (usize, &f64)| Stretch {
            start_s: at as f64,
            end_s: at as f64 + 1.0,
            bytes: rate / 8.0,
        };
        rates.iter().enumerate().map(stretch).collect()
    }

    #[test]
    fn jains_index_is_as_published_and_hides_starvation_of_one_in_two() {
        let six = |values: &[f64]| format!("{:.6}", jain(values).unwrap());
        assert_eq!(six(&[9.0, 1.0]), "0.609756");
        assert_eq!(six(&[9.5, 0.3]), "0.531547");
        assert_eq!(jain(&[5.0, 5.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 1.0, 1.0, 0.0]), Some(0.75));
    }

    #[test]
    fn harm_is_the_part_that_is_lost_beside_others() {
        assert_eq!(format!("{:.3}", harm(9.4, 0.3).unwrap()), "0.968");
        // A round trip of 20 ms alone and 80 ms beside others.
        assert_eq!(harm_of_less(0.02, 0.08), Some(0.75));
        assert_eq!(harm_of_less(1.0, 0.0), None);
    }

    #[test]
    fn fair_shares_leave_to_the_greedy_what_the_modest_do_not_want() {
        assert_eq!(fair_shares(100.0, &[None, Some(20.0)]), [80.0, 20.0]);
        assert_eq!(fair_shares(100.0, &[None, Some(80.0)]), [50.0, 50.0]);
        assert_eq!(
            fair_shares(90.0, &[Some(10.0), None, None]),
            [10.0, 40.0, 40.0]
        );
        assert!(fair_shares(1.0, &[]).is_empty());
    }

    #[test]
    fn a_flow_starves_in_the_intervals_below_a_tenth_of_its_share() {
        let series = seconds(&[50.0, 9.0, 0.0, 0.0, 10.0, 5.0]);
        assert_eq!(time_starved(&series, 100.0, 0.1), Some(4.0 / 6.0));
        assert_eq!(longest_starvation(&series, 100.0, 0.1), Some(3.0));
        assert_eq!(longest_starvation(&seconds(&[50.0]), 100.0, 0.1), Some(0.0));
        assert_eq!(time_starved(&[], 100.0, 0.1), None);
        assert_eq!(time_starved(&series, 0.0, 0.1), None);
    }

    #[test]
    fn a_hole_ends_a_starvation_and_counts_for_nothing() {
        let mut series = seconds(&[0.0, 0.0, 0.0, 0.0, 0.0, 50.0]);
        series.remove(2);
        assert_eq!(longest_starvation(&series, 100.0, 0.1), Some(2.0));
        assert_eq!(time_starved(&series, 100.0, 0.1), Some(0.8));
    }

    #[test]
    fn a_flow_has_settled_when_its_moving_mean_stays_near_its_late_mean() {
        let rising = [
            10.0, 40.0, 80.0, 98.0, 101.0, 99.0, 100.0, 100.0, 100.0, 101.0, 99.0, 100.0,
        ];
        assert_eq!(convergence(&seconds(&rising), 1.0), Some(3.0));
        // Over two seconds, 80 and 98 make 89, and 98 and 101 are near enough.
        assert_eq!(convergence(&seconds(&rising), 2.0), Some(3.0));
        assert_eq!(convergence(&seconds(&[100.0; 8]), 1.0), Some(0.0));
    }

    #[test]
    fn a_flow_that_never_settles_has_no_time_at_which_it_did() {
        let sawtooth: Vec<f64> = (0..20).map(|at| 50.0 + 10.0 * f64::from(at % 6)).collect();
        assert_eq!(convergence(&seconds(&sawtooth), 1.0), None);
        assert_eq!(convergence(&seconds(&[0.0; 8]), 1.0), None);
        assert_eq!(convergence(&seconds(&[100.0; 3]), 1.0), None);
        let late: Vec<f64> = (0..20)
            .map(|at| if at < 14 { 50.0 } else { 100.0 })
            .collect();
        assert_eq!(convergence(&seconds(&late), 1.0), None);
    }

    proptest! {
        #[test]
        fn shares_use_up_the_capacity_or_meet_the_demands(
            capacity in 0.0_f64..1e9,
            demands in proptest::collection::vec(proptest::option::of(0.0_f64..1e9), 1..10),
        ) {
            let shares = fair_shares(capacity, &demands);
            let wanted: f64 = demands.iter().map(|demand| demand.unwrap_or(f64::INFINITY)).sum();
            let given: f64 = shares.iter().sum();
            prop_assert!((given - capacity.min(wanted)).abs() <= 1e-6 * capacity.max(1.0));
            for (share, demand) in shares.iter().zip(&demands) {
                prop_assert!(*share >= 0.0 && *share <= demand.unwrap_or(f64::INFINITY));
            }
        }

        #[test]
        fn no_series_makes_a_measure_panic(
            points in proptest::collection::vec((-1e9_f64..1e9, -1e9_f64..1e9, 0.0_f64..1e12), 0..40),
            fair: f64,
            window: f64,
        ) {
            let series: Vec<Stretch> = points
                .into_iter()
                .map(|(start_s, end_s, bytes)| Stretch { start_s, end_s, bytes })
                .collect();
            let starved = time_starved(&series, fair, 0.1);
            prop_assert!(starved.is_none_or(|part| (0.0..=1.0).contains(&part)));
            let _ = (longest_starvation(&series, fair, 0.1), convergence(&series, window));
        }
    }

    #[test]
    fn fairness_and_harm() {
        let index = |values: &[f64]| format!("{:.6}", jain(values).unwrap());
        assert_eq!(index(&[9.0, 1.0]), "0.609756");
        assert_eq!(index(&[9.5, 0.3]), "0.531547");
        assert_eq!(index(&[5.0, 5.0]), "1.000000");
        assert_eq!(index(&[1.0, 1.0, 1.0, 0.0]), "0.750000");
        assert_eq!(jain(&[]), None);
        assert_eq!(format!("{:.3}", harm(9.4, 0.3).unwrap()), "0.968");
        assert_eq!(harm(0.0, 1.0), None);
    }
}
