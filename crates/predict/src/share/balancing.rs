//! Flows that a hash distributes over several paths.

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate};

use super::parameters::SharingParameters;

/// The probability that a hash assigns at least two of `flows` to the same one of `paths`.
///
/// `1 − k!/((k−n)!·kⁿ)`; `None` for no path. Source: the birthday problem; RFC 2992 for hashing by flow.
#[must_use]
pub fn hash_collision(flows: u32, paths: u32) -> Option<f64> {
    if paths == 0 {
        return None;
    }
    if flows > paths {
        return Some(1.0);
    }
    // Computed with logarithms: the product of thousands of factors below one would underflow.
    let log_no_collision: f64 = (0..flows)
        .map(|at| (-f64::from(at) / f64::from(paths)).ln_1p())
        .sum();
    Some(-log_no_collision.exp_m1())
}

/// The mean number of paths that a hash uses: `k·(1 − (1 − 1/k)ⁿ)`; `None` for no path.
///
/// Source: as [`hash_collision`].
#[must_use]
pub fn paths_used(flows: u32, paths: u32) -> Option<f64> {
    let k = f64::from(paths);
    (paths > 0).then(|| k * (1.0 - (1.0 - 1.0 / k).powf(f64::from(flows))))
}

pub(super) fn balanced(parameters: &SharingParameters, paths: u32) -> Vec<Prediction> {
    let flows = parameters.tcp.saturating_add(parameters.udp.len() as u32);
    let (Some(collision), Some(used)) = (hash_collision(flows, paths), paths_used(flows, paths))
    else {
        return Vec::new();
    };
    let each = parameters.framing.tcp_ceiling(parameters.rate);
    let total = each.as_f64() * used;
    vec![
        Prediction::new(
            "hash_collision",
            "two flows on one path",
            collision,
            Unit::Share,
        )
        .detail(format!("{flows} flows over {paths} paths"))
        .assumes("a hash that assigns each flow to any path with equal probability, independently of the others")
        .source("the birthday problem; RFC 2992")
        .within(Tolerance::SHARE)
        .step(format!(
            "1 − {paths}!/(({paths} − {flows})!·{paths}^{flows}) = {}",
            Unit::Share.show(collision)
        )),
        Prediction::new("paths_used", "paths used, mean", used, Unit::Paths)
            .detail(format!("of {paths}"))
            .assumes("as above")
            .source("the birthday problem; RFC 2992")
            .within(Tolerance::SHARE)
            .step(format!(
                "{paths} × (1 − (1 − 1/{paths})^{flows}) = {}",
                digits(used)
            )),
        Prediction::new(
            "balanced_goodput",
            "TCP over all paths, mean",
            total,
            Unit::BitPerSecond,
        )
        .bound_by("wire")
        .detail(format!("{} per path", rate(each)))
        .assumes(
            "every path has the given rate, every flow always has data, and one flow fills a path",
        )
        .source("the birthday problem; RFC 2992")
        .within(Tolerance::SHARE)
        .step(format!(
            "{} × {} = {}",
            digits(used),
            rate(each),
            Unit::BitPerSecond.show(total)
        )),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hashed_flows_collide_with_the_probability_of_the_birthday_problem() {
        assert_eq!(hash_collision(2, 2), Some(0.5));
        assert_eq!(hash_collision(1, 4), Some(0.0));
        assert_eq!(hash_collision(5, 4), Some(1.0));
        assert_eq!(format!("{:.4}", hash_collision(4, 8).unwrap()), "0.5898");
        assert_eq!(format!("{:.4}", hash_collision(23, 365).unwrap()), "0.5073");
        assert_eq!(paths_used(2, 2), Some(1.5));
        assert_eq!(hash_collision(1, 0), None);
    }

    proptest! {
        #[test]
        fn collision_probabilities_grow_with_the_number_of_flows(flows in 0_u32..100, paths in 1_u32..100) {
            let one = hash_collision(flows, paths).unwrap();
            prop_assert!((0.0..=1.0).contains(&one) && hash_collision(flows + 1, paths).unwrap() >= one);
            prop_assert!(paths_used(flows, paths).unwrap() <= f64::from(paths.min(flows)) + 1e-9);
        }
    }
}
