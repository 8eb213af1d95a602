//! Fairness between flows that share a link: shares, harm, starvation and convergence.
//!
//! A gap in a series of intervals counts neither for nor against a flow.

/// The payload a flow received during one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PayloadInterval {
    /// The start, in seconds from an arbitrary origin.
    pub start_s: f64,
    /// The end, in seconds from the same origin.
    pub end_s: f64,
    /// Payload bytes received.
    pub bytes: f64,
}

impl PayloadInterval {
    /// The length in seconds; `None` unless it is positive and all fields are finite.
    fn length(&self) -> Option<f64> {
        let length = self.end_s - self.start_s;
        (length > 0.0 && length.is_finite() && self.bytes.is_finite()).then_some(length)
    }

    /// The goodput in bit/s; `None` for an interval without length.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.length().map(|length| self.bytes * 8.0 / length)
    }
}

/// Default share of the fair share below which a flow is starved.
pub const STARVATION_THRESHOLD: f64 = 0.1;

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

/// The harm to a flow in a quantity of which more is better: `(solo − contended)/solo`; `None` for a solo of 0.
///
/// Source: Ware, Mukerjee, Seshan and Sherry, "Beyond Jain's Fairness Index: Setting the Bar for The Deployment of
/// Congestion Control Algorithms", HotNets 2019.
#[must_use]
pub fn harm(solo: f64, contended: f64) -> Option<f64> {
    (solo > 0.0).then(|| (solo - contended) / solo)
}

/// The harm to a flow in a quantity of which less is better, such as delay: `(contended − solo)/contended`; `None` for a contended of 0.
///
/// Source: section 4 of the paper named at [`harm`].
#[must_use]
pub fn harm_less_is_better(solo: f64, contended: f64) -> Option<f64> {
    (contended > 0.0 && contended.is_finite()).then(|| (contended - solo) / contended)
}

/// The ratio of a goodput to the fair share, both in bit/s; `None` without a share.
#[must_use]
pub fn share_ratio(goodput: f64, fair: f64) -> Option<f64> {
    let ratio = goodput / fair;
    (fair > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// The max–min fair shares of `capacity` among `demands`, all in bit/s; a demand of `None` is unlimited.
///
/// In the order of the demands. Source: Bertsekas and Gallager, "Data Networks", section 6.5.2.
#[must_use]
pub fn fair_shares(capacity: f64, demands: &[Option<f64>]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    let demand = |at: usize| demands[at].unwrap_or(f64::INFINITY).max(0.0);
    order.sort_by(|a, b| demand(*a).total_cmp(&demand(*b)));
    let mut shares = vec![0.0; demands.len()];
    let (mut remaining, mut flows) = (capacity.max(0.0), demands.len() as f64);
    for at in order {
        shares[at] = demand(at).min(remaining / flows);
        remaining -= shares[at];
        flows -= 1.0;
    }
    shares
}

/// The fraction of the time in which a flow got less than `below` of its `fair` share (bit/s), from 0 to 1.
///
/// Intervals are weighted by their length. `None` without intervals, or without a share.
#[must_use]
pub fn starved_fraction(series: &[PayloadInterval], fair: f64, below: f64) -> Option<f64> {
    let limit = limit(fair, below)?;
    let (mut starved, mut all) = (0.0, 0.0);
    for interval in series {
        if let (Some(length), Some(rate)) = (interval.length(), interval.rate()) {
            all += length;
            if rate < limit {
                starved += length;
            }
        }
    }
    (all > 0.0).then(|| starved / all)
}

/// The longest continuous time in which a flow got less than `below` of its `fair` share (bit/s), in seconds.
///
/// A gap ends it, because the goodput during a gap is unknown. `None` without intervals, or without a share.
#[must_use]
pub fn longest_starvation(series: &[PayloadInterval], fair: f64, below: f64) -> Option<f64> {
    let limit = limit(fair, below)?;
    let (mut longest, mut known) = (0.0_f64, false);
    // The start and the end of the current starvation.
    let mut current: Option<(f64, f64)> = None;
    for interval in series {
        let (Some(length), Some(rate)) = (interval.length(), interval.rate()) else {
            continue;
        };
        known = true;
        if rate >= limit {
            current = None;
            continue;
        }
        let from = match current {
            Some((from, to)) if follows(to, interval.start_s, length) => from,
            _ => interval.start_s,
        };
        current = Some((from, interval.end_s));
        longest = longest.max(interval.end_s - from);
    }
    known.then_some(longest)
}

fn limit(fair: f64, below: f64) -> Option<f64> {
    let limit = fair * below;
    (limit > 0.0 && limit.is_finite()).then_some(limit)
}

/// `true` when an interval of `length` that starts at `start` directly follows one that ends at `end`.
fn follows(end: f64, start: f64, length: f64) -> bool {
    (start - end).abs() <= 0.1 * length
}

/// The time from a flow's first interval until its rate converged, in seconds.
///
/// The converged rate is the mean over the second half of the series. The flow has converged at the start of the first
/// window of `window_s` seconds from which on the mean of every window lies within 10 % of it; windows start where intervals
/// do, and those that contain a gap are skipped. `None` where that is later than half of the series, because then no rate counts
/// as converged; where the converged rate is zero; and for a series shorter than four windows.
#[must_use]
pub fn convergence_time(series: &[PayloadInterval], window_s: f64) -> Option<f64> {
    const TOLERANCE: f64 = 0.1;
    const MIN_WINDOWS: f64 = 4.0;
    let known: Vec<PayloadInterval> = series
        .iter()
        .filter(|interval| interval.length().is_some())
        .copied()
        .collect();
    let (begin, end) = (known.first()?.start_s, known.last()?.end_s);
    if !(window_s > 0.0 && end - begin >= MIN_WINDOWS * window_s) {
        return None;
    }
    let half = f64::midpoint(begin, end);
    let second_half = known.iter().filter(|interval| interval.start_s >= half);
    let (bytes, time) = second_half.fold((0.0, 0.0), |(bytes, time), interval| {
        (
            bytes + interval.bytes,
            time + interval.end_s - interval.start_s,
        )
    });
    let converged = bytes * 8.0 / time;
    if !(converged > 0.0 && converged.is_finite()) {
        return None;
    }
    let mut since = None;
    for first in 0..known.len() {
        let Some(mean) = window_mean(&known[first..], window_s) else {
            continue;
        };
        let start = known[first].start_s;
        if (mean - converged).abs() > TOLERANCE * converged {
            since = None;
        } else if since.is_none() {
            since = Some(start);
        }
    }
    since
        .filter(|since| *since <= half)
        .map(|since| since - begin)
}

/// The mean rate over the first `window_s` seconds; `None` where the series is shorter or has a gap.
fn window_mean(series: &[PayloadInterval], window_s: f64) -> Option<f64> {
    let begin = series.first()?.start_s;
    let (mut bytes, mut reached) = (0.0, begin);
    for interval in series {
        let length = interval.length()?;
        if !follows(reached, interval.start_s, length) {
            return None;
        }
        bytes += interval.bytes;
        reached = interval.end_s;
        // The sum of whole intervals comes within half an interval of the window.
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
    fn seconds(rates: &[f64]) -> Vec<PayloadInterval> {
        let interval = |(at, rate): (usize, &f64)| PayloadInterval {
            start_s: at as f64,
            end_s: at as f64 + 1.0,
            bytes: rate / 8.0,
        };
        rates.iter().enumerate().map(interval).collect()
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
    fn harm_is_the_fraction_lost_to_contention() {
        assert_eq!(format!("{:.3}", harm(9.4, 0.3).unwrap()), "0.968");
        // A round-trip time of 20 ms alone and 80 ms under contention.
        assert_eq!(harm_less_is_better(0.02, 0.08), Some(0.75));
        assert_eq!(harm_less_is_better(1.0, 0.0), None);
    }

    #[test]
    fn fair_shares_give_unlimited_demands_what_limited_ones_leave() {
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
        assert_eq!(starved_fraction(&series, 100.0, 0.1), Some(4.0 / 6.0));
        assert_eq!(longest_starvation(&series, 100.0, 0.1), Some(3.0));
        assert_eq!(longest_starvation(&seconds(&[50.0]), 100.0, 0.1), Some(0.0));
        assert_eq!(starved_fraction(&[], 100.0, 0.1), None);
        assert_eq!(starved_fraction(&series, 0.0, 0.1), None);
    }

    #[test]
    fn a_gap_ends_a_starvation_and_is_not_counted() {
        let mut series = seconds(&[0.0, 0.0, 0.0, 0.0, 0.0, 50.0]);
        series.remove(2);
        assert_eq!(longest_starvation(&series, 100.0, 0.1), Some(2.0));
        assert_eq!(starved_fraction(&series, 100.0, 0.1), Some(0.8));
    }

    #[test]
    fn a_flow_has_converged_when_its_moving_mean_stays_near_its_late_mean() {
        let rising = [
            10.0, 40.0, 80.0, 98.0, 101.0, 99.0, 100.0, 100.0, 100.0, 101.0, 99.0, 100.0,
        ];
        assert_eq!(convergence_time(&seconds(&rising), 1.0), Some(3.0));
        // Over two seconds, 80 and 98 make 89, and 98 and 101 are near enough.
        assert_eq!(convergence_time(&seconds(&rising), 2.0), Some(3.0));
        assert_eq!(convergence_time(&seconds(&[100.0; 8]), 1.0), Some(0.0));
    }

    #[test]
    fn a_flow_that_never_converges_has_no_convergence_time() {
        let sawtooth: Vec<f64> = (0..20).map(|at| 50.0 + 10.0 * f64::from(at % 6)).collect();
        assert_eq!(convergence_time(&seconds(&sawtooth), 1.0), None);
        assert_eq!(convergence_time(&seconds(&[0.0; 8]), 1.0), None);
        assert_eq!(convergence_time(&seconds(&[100.0; 3]), 1.0), None);
        let late: Vec<f64> = (0..20)
            .map(|at| if at < 14 { 50.0 } else { 100.0 })
            .collect();
        assert_eq!(convergence_time(&seconds(&late), 1.0), None);
    }

    proptest! {
        #[test]
        fn fair_shares_use_the_whole_capacity_or_meet_the_demands(
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
            let series: Vec<PayloadInterval> = points
                .into_iter()
                .map(|(start_s, end_s, bytes)| PayloadInterval { start_s, end_s, bytes })
                .collect();
            let starved = starved_fraction(&series, fair, 0.1);
            prop_assert!(starved.is_none_or(|part| (0.0..=1.0).contains(&part)));
            let _ = (longest_starvation(&series, fair, 0.1), convergence_time(&series, window));
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
