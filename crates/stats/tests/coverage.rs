//! Coverage: simulated studies of a known truth check that intervals contain it as often as their confidence claims.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_stats::{StopDecision, StopRule, batch_means, mean_interval};

/// The accepted coverage of a 95 % interval.
const ACCEPTED: std::ops::RangeInclusive<f64> = 0.93..=0.97;
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

/// The fraction of `studies` whose interval contains the truth.
fn coverage(studies: u32, mut study: impl FnMut() -> bool) -> f64 {
    let covered: u32 = (0..studies).map(|_| u32::from(study())).sum();
    f64::from(covered) / f64::from(studies)
}

#[test]
fn the_interval_of_independent_trials_contains_the_truth_in_95_of_100_studies() {
    let mut noise = Noise(1);
    for trials in [3, 5, 10, 30] {
        let covered = coverage(3000, || {
            let values: Vec<f64> = (0..trials).map(|_| TRUTH + noise.normal()).collect();
            let mean = mean_interval(&values, 0.95).unwrap();
            mean.low <= TRUTH && TRUTH <= mean.high
        });
        assert!(ACCEPTED.contains(&covered), "{trials} trials: {covered}");
    }
}

/// The coverage of the interval of a study that stops by the rule, and the mean number of its trials.
fn stopped(min: u64, max: u64, spread: f64, studies: u32) -> (f64, f64) {
    let rule = StopRule {
        relative_error: 0.05,
        confidence: 0.95,
        min,
        max,
    };
    let mut noise = Noise(3);
    let mut trials = 0;
    let covered = coverage(studies, || {
        let mut values = Vec::new();
        while rule.decide(&values) == StopDecision::Continue {
            values.push(TRUTH * (1.0 + spread * noise.normal()));
        }
        trials += values.len();
        let mean = mean_interval(&values, 0.95).unwrap();
        mean.low <= TRUTH && TRUTH <= mean.high
    });
    (covered, trials as f64 / f64::from(studies))
}

#[test]
fn the_stop_rule_keeps_the_coverage_with_at_least_ten_trials() {
    // A spread that takes a few more trials, and the worst case of about eighteen trials.
    for (spread, studies) in [(0.07, 2000), (0.1, 4000)] {
        let (covered, trials) = stopped(10, 1000, spread, studies);
        assert!(
            ACCEPTED.contains(&covered),
            "spread {spread}: {covered} in {trials} trials"
        );
    }
    // A study that ends at the default maximum of thirty trials is no worse.
    let (covered, _) = stopped(10, 30, 0.15, 2000);
    assert!(ACCEPTED.contains(&covered), "at the maximum: {covered}");
}

#[test]
fn stopping_after_three_lucky_trials_makes_the_interval_optimistic() {
    let (covered, _) = stopped(3, 1000, 0.1, 2000);
    assert!((0.88..0.93).contains(&covered), "{covered}");
}

/// A first-order autoregressive series around the truth, in its steady state from the start.
fn autoregressive(rho: f64, n: usize, noise: &mut Noise) -> Vec<f64> {
    let mut value = noise.normal() / (1.0 - rho * rho).sqrt();
    (0..n)
        .map(|_| {
            value = rho * value + noise.normal();
            TRUTH + value
        })
        .collect()
}

/// The coverage of the intervals that are trusted, and the fraction of series whose interval is trusted.
fn trusted(rho: f64, n: usize, series: u32) -> (f64, f64) {
    let mut noise = Noise(5);
    let (mut trusted, mut covered) = (0_u32, 0_u32);
    for _ in 0..series {
        let found = batch_means(&autoregressive(rho, n, &mut noise), 0.95).unwrap();
        if found.trusted {
            trusted += 1;
            covered += u32::from(found.estimate.low <= TRUTH && TRUTH <= found.estimate.high);
        }
    }
    (
        f64::from(covered) / f64::from(trusted.max(1)),
        f64::from(trusted) / f64::from(series),
    )
}

#[test]
fn trusted_intervals_of_correlated_samples_contain_the_truth() {
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
        let (covered, part) = trusted(rho, n, 2000);
        assert!(
            ACCEPTED.contains(&covered),
            "ρ {rho}, n {n}: {covered} of {part} trusted"
        );
        assert!(part > 0.8, "ρ {rho}, n {n}: only {part} trusted");
    }
}

#[test]
fn a_series_too_short_to_show_its_correlation_has_a_wide_interval_that_covers() {
    for (rho, n) in [
        (0.6, 60),
        (0.8, 60),
        (0.9, 60),
        (0.9, 120),
        (0.95, 120),
        (0.95, 200),
        (0.98, 250),
        (0.98, 400),
    ] {
        let (covered, part) = trusted(rho, n, 2000);
        assert!(covered >= 0.9, "ρ {rho}, n {n}: {covered}");
        assert!(part > 0.999, "ρ {rho}, n {n}: {part} trusted");
    }
    // What is correlated more than that, over too short a time, is covered too rarely: it is here that the limits lie.
    let (covered, _) = trusted(0.98, 60, 2000);
    assert!(covered < 0.9, "{covered}");
}

#[test]
fn a_series_of_few_values_is_rarely_trusted() {
    for (rho, n) in [(0.3, 20), (0.6, 20), (0.6, 50), (0.9, 50)] {
        let (_, part) = trusted(rho, n, 2000);
        assert!(part < 0.01, "ρ {rho}, n {n}: {part} trusted");
    }
}

/// The rates of a TCP connection with random loss, in samples of 50 ms over a round trip of 20 ms: it halves its window, and adds to it.
fn sawtooth(n: usize, loss: f64, noise: &mut Noise) -> Vec<f64> {
    let (mut window, mut rates) = (40.0_f64, Vec::with_capacity(n));
    let mut take = |noise: &mut Noise| {
        let mut sent = 0.0;
        for _ in 0..5 {
            // Half a round trip each.
            sent += window / 2.0;
            let lost = 1.0 - (1.0 - loss).powf(window / 2.0);
            window = match noise.uniform() < lost {
                true => (window / 2.0).max(2.0),
                false => (window + 0.5).min(167.0),
            };
        }
        sent / 0.05
    };
    for _ in 0..400 {
        take(noise);
    }
    rates.extend((0..n).map(|_| take(noise)));
    rates
}

#[test]
fn six_seconds_of_random_loss_have_an_interval_that_covers_the_long_run() {
    for loss in [0.0005, 0.002, 0.01] {
        let mut noise = Noise(7);
        let long = sawtooth(400_000, loss, &mut noise);
        let truth = long.iter().sum::<f64>() / long.len() as f64;
        let mut trusted = 0;
        let covered = coverage(2000, || {
            let found = batch_means(&sawtooth(120, loss, &mut noise), 0.95).unwrap();
            trusted += u32::from(found.trusted);
            found.estimate.low <= truth && truth <= found.estimate.high
        });
        assert!((0.9..0.995).contains(&covered), "loss {loss}: {covered}");
        assert_eq!(trusted, 2000);
    }
}
