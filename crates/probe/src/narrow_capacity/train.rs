//! Several trains of packets together.

use super::bucket_fit::{TrainArrival, TrainFit, TrainShape};
use crate::cannot_tell::CannotTell;
use crate::rate_estimate::RateEstimate;
use caudal_core::units::{BitRate, ByteCount};
use caudal_stats::{mean_of_trials, midpoint_median};

/// What several trains say.
///
/// Where the path is a line with cross traffic, the rate is the asymptotic dispersion rate: between the available bandwidth and the capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainsEstimate {
    /// The mean of the trains' rates, with its interval from five trains on, and their range from two on.
    pub rate: RateEstimate,
    /// The median size of the bucket; `None` when most trains came at one rate.
    pub bucket: Option<ByteCount>,
    /// The trains that said nothing, with the last cause.
    pub without_result: Option<(usize, CannotTell)>,
}

/// The rate and the bucket of several trains, at `confidence`.
///
/// # Errors
/// When no train has a result.
pub fn estimate_trains(
    trains: &[Vec<TrainArrival>],
    confidence: f64,
) -> Result<TrainsEstimate, CannotTell> {
    let mut fits = Vec::with_capacity(trains.len());
    let mut without_result = None;
    for train in trains {
        match TrainFit::from_arrivals(train) {
            Ok(fit) => fits.push(fit),
            Err(cause) => {
                let before = without_result.map_or(0, |(count, _)| count);
                without_result = Some((before + 1, cause));
            }
        }
    }
    let rates: Vec<f64> = fits.iter().map(|fit| fit.rate.as_f64()).collect();
    let Some(mean) = mean_of_trials(&rates, confidence) else {
        return Err(without_result.map_or(CannotTell::NoReadings, |(_, cause)| cause));
    };
    let buckets: Vec<f64> = fits
        .iter()
        .filter_map(|fit| match fit.shape {
            TrainShape::TokenBucket { bucket, .. } => Some(bucket.as_f64()),
            TrainShape::OneRate => None,
        })
        .collect();
    let most = 2 * buckets.len() > fits.len();
    let out_of_range = CannotTell::Implausible("the rates of the trains are out of range");
    let bps = |value: f64| BitRate::from_f64(value.max(0.0)).ok_or(out_of_range.clone());
    Ok(TrainsEstimate {
        rate: RateEstimate {
            rate: bps(mean.mean)?,
            low: bps(mean.low)?,
            high: Some(bps(mean.high)?),
            confidence: mean.confidence,
            readings: mean.n,
        },
        bucket: midpoint_median(buckets)
            .filter(|_| most)
            .map(|bytes| ByteCount::new(bytes as u64)),
        without_result,
    })
}
