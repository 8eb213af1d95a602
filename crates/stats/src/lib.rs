//! Statistics of measurements: estimates with intervals, distributions, comparisons, contention, clock offsets.
//!
//! Values that are not finite never yield a result: functions return `None` for them, as for too few values.

#![forbid(unsafe_code)]

pub mod batch_means;
pub mod change_points;
pub mod clock;
pub mod contention;
pub mod contrast;
pub mod critical;
pub mod drift;
pub mod estimate;
pub mod histogram;
pub mod margin;
pub mod mean;
pub mod paired_ratio;
pub mod poisson;
pub mod proportion;
pub mod quantile;
pub mod random;
pub mod repetition;
mod special;
pub mod steadiness;
pub mod stop_rule;
pub mod trend;
pub mod two_sample;
pub mod two_stage;
pub mod warm_up;
pub mod welford;

pub use batch_means::{
    BatchMeans, batch_means, batch_means_from, effective_sample_size, fixed_batch_means,
    interval_inflation, lag1,
};
pub use change_points::change_points;
pub use clock::{ClockEstimate, OffsetAndRtt, offset_and_rtt};
pub use contrast::{
    Contrast, Equivalence, NotComparable, Ratio, SideSummary, adjust_for_multiple_comparisons,
    contrast,
};
pub use critical::{normal_quantile, student_t_quantile};
pub use drift::{Drift, RunOrder, TimedValue};
pub use estimate::{Estimate, IntervalMethod};
pub use histogram::{
    HistogramBucket, LatencyHistogram, log_bucket, log_bucket_range, quantile_bucket,
};
pub use margin::{difference_interval, exceeding_p, runs_to_exclude_limit};
pub use mean::{
    MIN_TRIALS_OF_INTERVAL, max_variation, mean_interval, mean_of_trials, prediction_interval,
    runs_needed,
};
pub use paired_ratio::paired_ratio;
pub use poisson::poisson_tail;
pub use proportion::{exact_upper, wilson};
pub use quantile::{
    DistributionSummary, QuantileRanks, correct_coordinated_omission, median, midpoint_median,
    nearest_rank, quantile, quantile_ranks, samples_needed, samples_needed_two_sided,
    supported_quantile,
};
pub use repetition::{Repetition, repetition};
pub use steadiness::{coefficient_of_variation, max_relative_residual, uncentred_correlation};
pub use stop_rule::{StopDecision, StopRule};
pub use trend::{MannKendall, mann_kendall};
pub use two_sample::{
    MannWhitney, Welch, hodges_lehmann, holm, mann_whitney, ratio_interval, welch,
};
pub use two_stage::{two_stage_interval, two_stage_runs};
pub use warm_up::{Mser, mser, mser5};
pub use welford::Welford;
