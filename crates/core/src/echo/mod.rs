//! The results of round-trip tests.

mod clock;
mod outlier;
mod round_trip_interval;
mod summary;

pub use clock::{ClockOffset, ClockOffsetLine};
pub use outlier::{RoundTripOutlier, RoundTripOutliers, WaitPlace};
pub use round_trip_interval::{IntervalBounds, RoundTripInterval};
pub use summary::{
    ClientSummary, DelayLevel, KernelSplit, Lateness, OneWaySummary, ReplySummary, SizeSummary,
};
