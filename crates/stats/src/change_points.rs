//! Change points of a correlated series: where its mean changes.

use crate::batch_means::lag1;
use crate::welford::Welford;

/// The weight of a change in the penalty, times ln n: with 4, false changes stay below 1 % where the correlation is estimated, where the 2
/// of the Bayesian information criterion has more than 2 % without any correlation.
const PENALTY: f64 = 4.0;
/// The autocorrelation that the first pass assumes, whose segments only serve to estimate that of the series.
const ASSUMED_LAG1: f64 = 0.8;
/// Maximum autocorrelation that is allowed for.
const MAX_LAG1: f64 = 0.9;

/// The first index of every segment of `values`, which is 0 for the first: the partition into segments of at least `min_segment` values
/// with the least sum of squares about their means, where each change costs `4 ln n · (1+φ)/(1-φ)` variances of the noise, φ its lag-1
/// autocorrelation. `min_noise` is the least standard deviation of the noise that is assumed.
///
/// `None` for values that are not finite, and for fewer than two segments' worth of them. Sources: Killick, Fearnhead and Eckley, "Optimal
/// Detection of Changepoints with a Linear Computational Cost", 2012 (the cost and the recursion; all starts are tried, at O(n²)); the
/// inflation by the long-run variance as in Lavielle and Moulines, "Least-squares estimation of an unknown number of shifts in a time
/// series", 2000.
#[must_use]
pub fn change_points(values: &[f64], min_segment: usize, min_noise: f64) -> Option<Vec<usize>> {
    let min_segment = min_segment.max(2);
    if values.len() < 2 * min_segment || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let sums = Sums::new(values);
    let weight = |phi: f64| PENALTY * (values.len() as f64).ln() * (1.0 + phi) / (1.0 - phi);
    let step_noise = noise_by_differences(values).max(min_noise);
    let first = sums.partition(min_segment, weight(ASSUMED_LAG1) * step_noise.powi(2));
    let residuals = residuals(values, &first);
    let phi = lag1(&residuals).map_or(0.0, |phi| {
        // The estimate is too low by (1+3φ)/n for each mean that is fitted (Marriott and Pope, 1954).
        let bias = first.len() as f64 * (1.0 + 3.0 * phi.max(0.0)) / values.len() as f64;
        (phi + bias).clamp(0.0, MAX_LAG1)
    });
    let spread = residuals.iter().collect::<Welford>().sd();
    let noise = spread.unwrap_or(0.0).max(step_noise);
    Some(sums.partition(min_segment, weight(phi) * noise.powi(2)))
}

/// The standard deviation of independent noise about means that change seldom, from the median of the differences of neighbours.
fn noise_by_differences(values: &[f64]) -> f64 {
    let mut steps: Vec<f64> = values
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .collect();
    steps.sort_unstable_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    // The median of the size of a normal value is 0.6745 standard deviations.
    median / (0.6745 * std::f64::consts::SQRT_2)
}

/// The values without the means of their segments.
fn residuals(values: &[f64], starts: &[usize]) -> Vec<f64> {
    let ends = starts.iter().skip(1).copied().chain([values.len()]);
    starts
        .iter()
        .zip(ends)
        .flat_map(|(start, end)| {
            let segment = &values[*start..end];
            let mean = segment.iter().sum::<f64>() / segment.len() as f64;
            segment.iter().map(move |value| value - mean)
        })
        .collect()
}

/// Sums of the first values and of their squares, from which the sum of squares of any segment follows.
struct Sums {
    /// One longer than the values: the first is that of none.
    sums: Vec<(f64, f64)>,
}

impl Sums {
    fn new(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut sums = vec![(0.0, 0.0)];
        let mut sum = (0.0, 0.0);
        for value in values {
            // About the mean, so that the squares do not cancel.
            let value = value - mean;
            sum = (sum.0 + value, sum.1 + value * value);
            sums.push(sum);
        }
        Self { sums }
    }

    /// The sum of squares of the values from `start` to before `end` about their mean.
    fn cost(&self, start: usize, end: usize) -> f64 {
        let (sum, squares) = (
            self.sums[end].0 - self.sums[start].0,
            self.sums[end].1 - self.sums[start].1,
        );
        (squares - sum * sum / (end - start) as f64).max(0.0)
    }

    /// The starts of the segments with the least total cost, where each change costs `penalty`.
    fn partition(&self, min_segment: usize, penalty: f64) -> Vec<usize> {
        let n = self.sums.len() - 1;
        // The least cost of the first values, and where its last segment starts.
        let mut best: Vec<(f64, usize)> = vec![(f64::INFINITY, 0); n + 1];
        best[0] = (-penalty, 0);
        for end in min_segment..=n {
            for start in 0..=end - min_segment {
                let total = best[start].0 + self.cost(start, end) + penalty;
                if total < best[end].0 {
                    best[end] = (total, start);
                }
            }
        }
        let mut starts = Vec::new();
        let mut end = n;
        while end > 0 {
            end = best[end].1;
            starts.push(end);
        }
        starts.reverse();
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Normal noise with this lag-1 autocorrelation and a standard deviation of one.
    fn noise(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let mut uniform = move || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut value = normal();
        (0..n)
            .map(|_| {
                value = phi * value + (1.0 - phi * phi).sqrt() * normal();
                value
            })
            .collect()
    }

    fn share(of: u32, is_so: impl Fn(u64) -> bool) -> f64 {
        let count = (1..=u64::from(of)).filter(|seed| is_so(*seed)).count();
        count as f64 / f64::from(of)
    }

    #[test]
    fn a_series_without_a_change_has_one_segment() {
        for phi in [0.0, 0.3, 0.6, 0.8] {
            // A hundred values of the most correlated hold too little to tell their correlation.
            for n in [100, 200, 400].into_iter().skip(usize::from(phi > 0.7)) {
                let alarms = share(1000, |seed| {
                    change_points(&noise(n, phi, seed), 20, 0.0).unwrap().len() > 1
                });
                assert!(alarms <= 0.012, "{alarms} of φ = {phi}, n = {n}");
            }
        }
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        for (phi, change, power) in [(0.0, 1.5, 0.95), (0.6, 3.0, 0.9)] {
            let found = share(300, |seed| {
                let mut values = noise(200, phi, seed);
                values[..60].iter_mut().for_each(|value| *value += change);
                let starts = change_points(&values, 20, 0.0).unwrap();
                starts.len() == 2 && starts[1].abs_diff(60) <= 8
            });
            assert!(found >= power, "{found} of φ = {phi}");
        }
    }

    #[test]
    fn several_changes_are_found_and_small_ones_below_the_noise_assumed_are_not() {
        let step = |nth: usize| [5.0, 4.0, 4.5][nth / 30];
        let values: Vec<f64> = (0..90).map(step).collect();
        assert_eq!(change_points(&values, 10, 0.01).unwrap(), [0, 30, 60]);
        assert_eq!(change_points(&values, 10, 10.0).unwrap(), [0]);
        assert_eq!(change_points(&[1.0; 50], 10, 0.0).unwrap(), [0]);
    }

    #[test]
    fn too_few_values_and_such_that_are_not_finite_have_no_answer() {
        assert_eq!(change_points(&[1.0; 19], 10, 0.0), None);
        assert_eq!(change_points(&[], 0, 0.0), None);
        assert_eq!(change_points(&[f64::NAN; 50], 5, 0.0), None);
    }
}
