//! Whether intervals hold the truth as often as they say: many simulated studies of a known truth, the same on every run.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_stats::{StopRule, Verdict, batch_means, mean_interval};

/// How often an interval of 95 % may hold the truth.
const RIGHT: std::ops::RangeInclusive<f64> = 0.93..=0.97;
const TRUTH: f64 = 100.0;

/// Normal noise by Box and Muller over SplitMix64.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((mixed ^ (mixed >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// How many of `studies` hold the truth.
fn coverage(studies: u32, mut study: impl FnMut() -> bool) -> f64 {
    let held: u32 = (0..studies).map(|_| u32::from(study())).sum();
    f64::from(held) / f64::from(studies)
}

#[test]
fn the_interval_of_independent_trials_holds_the_truth_in_95_of_100_studies() {
    let mut noise = Noise(1);
    for trials in [3, 5, 10, 30] {
        let held = coverage(3000, || {
            let values: Vec<f64> = (0..trials).map(|_| TRUTH + noise.normal()).collect();
            let mean = mean_interval(&values, 0.95).unwrap();
            mean.low <= TRUTH && TRUTH <= mean.high
        });
        assert!(RIGHT.contains(&held), "{trials} trials: {held}");
    }
}

/// The coverage of the interval that a study reports which stops when it thinks it knows enough, and how long it takes.
fn stopped(min: u64, max: u64, spread: f64, studies: u32) -> (f64, f64) {
    let rule = StopRule {
        relative_error: 0.05,
        confidence: 0.95,
        min,
        max,
    };
    let mut noise = Noise(3);
    let mut trials = 0;
    let held = coverage(studies, || {
        let mut values = Vec::new();
        while rule.judge(&values) == Verdict::Continue {
            values.push(TRUTH * (1.0 + spread * noise.normal()));
        }
        trials += values.len();
        let mean = mean_interval(&values, 0.95).unwrap();
        mean.low <= TRUTH && TRUTH <= mean.high
    });
    (held, trials as f64 / f64::from(studies))
}

#[test]
fn stopping_when_enough_is_known_keeps_the_interval_right_with_ten_trials_at_least() {
    // A spread that is known after a few more trials, and the worst: about eighteen trials.
    for (spread, studies) in [(0.07, 2000), (0.1, 4000)] {
        let (held, trials) = stopped(10, 1000, spread, studies);
        assert!(
            RIGHT.contains(&held),
            "spread {spread}: {held} in {trials} trials"
        );
    }
    // A study that is cut off at the default of thirty is no worse.
    let (held, _) = stopped(10, 30, 0.15, 2000);
    assert!(RIGHT.contains(&held), "cut off: {held}");
}

#[test]
fn stopping_after_three_lucky_trials_makes_the_interval_optimistic() {
    let (held, _) = stopped(3, 1000, 0.1, 2000);
    assert!((0.88..0.93).contains(&held), "{held}");
}

/// A first-order autoregressive series around the truth, in its steady state from the start.
fn remembering(rho: f64, n: usize, noise: &mut Noise) -> Vec<f64> {
    let mut value = noise.normal() / (1.0 - rho * rho).sqrt();
    (0..n)
        .map(|_| {
            value = rho * value + noise.normal();
            TRUTH + value
        })
        .collect()
}

/// Of the series whose interval is trusted, how many hold the truth; and how many are trusted.
fn trusted(rho: f64, n: usize, series: u32) -> (f64, f64) {
    let mut noise = Noise(5);
    let (mut trusted, mut held) = (0_u32, 0_u32);
    for _ in 0..series {
        let found = batch_means(&remembering(rho, n, &mut noise), 0.95).unwrap();
        if found.trusted {
            trusted += 1;
            held += u32::from(found.estimate.low <= TRUTH && TRUTH <= found.estimate.high);
        }
    }
    (
        f64::from(held) / f64::from(trusted.max(1)),
        f64::from(trusted) / f64::from(series),
    )
}

#[test]
fn the_interval_of_correlated_samples_holds_the_truth_where_it_is_trusted() {
    for (rho, n) in [
        (0.0, 100),
        (0.3, 100),
        (0.3, 200),
        (0.3, 1000),
        (0.6, 200),
        (0.6, 500),
        (0.6, 1000),
        (0.9, 1000),
        (0.9, 3000),
    ] {
        let (held, part) = trusted(rho, n, 2000);
        assert!(
            RIGHT.contains(&held),
            "ρ {rho}, n {n}: {held} of {part} trusted"
        );
        assert!(part > 0.8, "ρ {rho}, n {n}: only {part} trusted");
    }
}

#[test]
fn a_series_too_short_to_show_its_correlation_is_hardly_ever_trusted() {
    for (rho, n, most) in [
        (0.6, 50, 0.005),
        (0.6, 100, 0.08),
        (0.9, 200, 0.005),
        (0.9, 500, 0.08),
    ] {
        let (_, part) = trusted(rho, n, 2000);
        assert!(part < most, "ρ {rho}, n {n}: {part} trusted");
    }
}
