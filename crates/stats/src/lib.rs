//! From measurements to statements: estimates with their intervals, distributions, comparisons, clocks.
//!
//! Values that are not finite never yield a result: functions answer `None` for them, as for too few values.

#![forbid(unsafe_code)]

pub mod clock;
pub mod compare;
pub mod contention;
pub mod contrast;
pub mod estimate;
pub mod histogram;
pub mod proportion;
pub mod quantile;
pub mod series;
mod special;

pub use clock::{ClockEstimate, OffsetAndRtt, offset_and_rtt};
pub use compare::{MannWhitney, Welch, hodges_lehmann, holm, mann_whitney, ratio_interval, welch};
pub use contrast::{
    Cannot, Contrast, Drift, Equivalence, Order, Ratio, Reading, Spread, contrast, contrasts,
};
pub use estimate::{
    Estimate, Method, StopRule, Verdict, Welford, mean_interval, normal_quantile,
    prediction_interval, runs_needed, student_t_quantile,
};
pub use histogram::{Bucket, LatencyHistogram};
pub use proportion::{exact_upper, wilson};
pub use quantile::{
    Distribution, Ranks, correct_coordinated_omission, nearest_rank, quantile_ranks,
    samples_needed, samples_needed_two_sided,
};
pub use series::{
    BatchMeans, MannKendall, Mser, batch_means, batch_means_of, coefficient_of_variation,
    effective_sample_size, interval_inflation, lag1, mann_kendall, max_relative_residual, mser,
    mser5, uncentred_correlation,
};
