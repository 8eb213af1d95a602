//! Round-trip tests: the schedule of their messages, the record of what was measured, and its summary.

mod clock;
mod outlier;
mod record;
mod round_trip_interval;
mod schedule;
mod summarise;
mod summary;

pub use clock::{ClockOffset, ClockOffsetLine};
pub use outlier::{
    KernelAccount, OUTLIER_FACTOR, RoundTripOutlier, RoundTripOutliers, SlowRoundTrip,
    SlowestRoundTrips, WaitPlace,
};
pub use record::{Departure, EchoRecord, EchoSeries, OneWayTransit, Reply, StampedRoundTrip};
pub use round_trip_interval::{IntervalBounds, RoundTripInterval};
pub use schedule::{DepartureProcess, departure_times};
pub use summary::{
    ClientSummary, EchoSummaryOptions, KernelSplit, Lateness, OneWaySummary, ReplySummary,
    SizeSummary,
};
