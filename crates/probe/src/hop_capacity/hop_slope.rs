//! The slope of the minimum round-trip times of a hop over the size of its probes.

use super::reading::{HopReading, Priming};
use super::settings::VpsSettings;
use super::size_minima::{AnswersOfSize, ReplyHandling, SizeMinima};
use crate::cannot_tell::CannotTell;
use crate::line_fit::LineFit;
use caudal_stats::random::SplitMix64;
use caudal_stats::{nearest_rank, normal_quantile, student_t_quantile};

/// Minimum share of the variance that a line explains.
const MIN_R_SQUARED: f64 = 0.9;
/// Minimum slope, in standard errors, to be significant.
const STANDS_OUT: f64 = 4.0;

/// The slope at one hop: the sum of the serialisation times per byte of the links up to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HopSlope {
    /// The slope, ns per byte.
    pub ns_per_byte: f64,
    /// Its standard error by the bootstrap, ns per byte; above zero.
    pub standard_error: f64,
    /// The round-trip time at size zero, ns.
    pub intercept_ns: f64,
    /// The answers it rests on.
    pub readings: u64,
    /// The smallest and the largest size, bytes.
    pub sizes_bytes: (f64, f64),
    /// How the replies' sizes were accounted for.
    pub reply: ReplyHandling,
}

impl HopSlope {
    /// The slope of the readings of one hop and one priming.
    ///
    /// The weighted Theil–Sen line through the minimum of each size; its standard error from resamples of the sizes and of each size's
    /// answers, and at least what the resolution of the timestamps allows. Source: Efron, "Bootstrap Methods: Another Look at the
    /// Jackknife", 1979.
    ///
    /// # Errors
    /// When the readings are too few or too alike, fall with the size, or do not lie on a line.
    pub fn from_readings(
        readings: &[HopReading],
        ttl: u8,
        priming: Priming,
        settings: &VpsSettings,
    ) -> Result<Self, CannotTell> {
        let of_hop = readings
            .iter()
            .filter(|reading| reading.ttl == ttl && reading.priming == priming);
        let all = SizeMinima::from_readings(of_hop)?;
        let resolution_ns = (settings.resolution_ns as f64).max(granularity(&all));
        let minima = all.consistent(resolution_ns);
        let points: Vec<(f64, f64)> = minima
            .sizes
            .iter()
            .map(|size| (size.bytes, size.rtts_ns[0]))
            .collect();
        let line = LineFit::through(&points).ok_or(CannotTell::NoReadings)?;
        let seed = settings.seed ^ (u64::from(ttl) << 8) ^ priming as u64;
        let resampled = bootstrap_error(&minima.sizes, settings.resamples, SplitMix64::new(seed));
        let error = (resampled * few_points_factor(points.len()))
            .max(resolution_error(&points, resolution_ns));
        if line.slope < -STANDS_OUT * error {
            return Err(CannotTell::NegativeSlope);
        }
        let r_squared = line.r_squared(&points).unwrap_or(0.0);
        if line.slope > STANDS_OUT * error && r_squared < MIN_R_SQUARED {
            return Err(CannotTell::NotLinear { r_squared });
        }
        Ok(Self {
            ns_per_byte: line.slope,
            standard_error: error,
            intercept_ns: line.intercept,
            readings: minima.readings(),
            sizes_bytes: (points[0].0, points[points.len() - 1].0),
            reply: minima.reply,
        })
    }
}

/// The distance between the steps of a coarse clock, ns: the smallest difference between two round-trip times.
fn granularity(minima: &SizeMinima) -> f64 {
    let mut all: Vec<f64> = minima
        .sizes
        .iter()
        .flat_map(|size| size.rtts_ns.iter().copied())
        .collect();
    all.sort_unstable_by(f64::total_cmp);
    let steps = all.windows(2).map(|pair| pair[1] - pair[0]);
    let least = steps
        .filter(|step| *step > 0.0)
        .fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// The standard error of a least-squares slope when each y is off by an error uniform over `resolution_ns`.
fn resolution_error(points: &[(f64, f64)], resolution_ns: f64) -> f64 {
    let mean = points.iter().map(|(x, _)| x).sum::<f64>() / points.len() as f64;
    let spread: f64 = points.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    resolution_ns.max(1.0) / (12.0 * spread).sqrt()
}

/// Half the distance between the quantiles 0.1587 and 0.8413 of the slopes of resamples: the standard error of a normal
/// distribution, and not moved by a few resamples of hardly any sizes.
fn bootstrap_error(sizes: &[AnswersOfSize], resamples: u32, mut random: SplitMix64) -> f64 {
    let mut slopes: Vec<f64> = (0..resamples.max(20))
        .filter_map(|_| {
            let points: Vec<(f64, f64)> = sizes
                .iter()
                .map(|_| {
                    let size = &sizes[random.below(sizes.len() as u64) as usize];
                    (size.bytes, resampled_minimum(&size.rtts_ns, &mut random))
                })
                .collect();
            LineFit::through(&points).map(|line| line.slope)
        })
        .collect();
    slopes.sort_unstable_by(f64::total_cmp);
    let ends = nearest_rank(&slopes, 0.1587).zip(nearest_rank(&slopes, 0.8413));
    ends.map_or(0.0, |(low, high)| (high - low) / 2.0)
}

/// How much wider an interval has to be than resamples of `points` points and a normal distribution make it.
///
/// Residuals of a line through n points are too small by `√((n - 2) / n)`, and Student's t with n - 2 degrees of freedom is wider
/// than a normal distribution: here at 95 %.
fn few_points_factor(points: usize) -> f64 {
    let n = points as f64;
    let ratio = student_t_quantile(0.975, n - 2.0)
        .zip(normal_quantile(0.975))
        .map_or(1.0, |(t, z)| t / z);
    ratio * (n / (n - 2.0)).sqrt()
}

/// The minimum of as many draws from ascending values as there are values.
///
/// All draws lie at or above the value of index i with probability `((n - i) / n)^n`, so one uniform number gives the minimum.
fn resampled_minimum(ascending: &[f64], random: &mut SplitMix64) -> f64 {
    let count = ascending.len() as f64;
    let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let index = (count * (1.0 - uniform.powf(count.recip()))) as usize;
    ascending[index.min(ascending.len() - 1)]
}
