//! Round-trip tests: the schedule of their messages, the record of what was measured, and how it is summarised.

mod delay_episodes;
mod delay_levels;
mod options;
mod outlier;
mod record;
mod schedule;
mod summarise;

pub use delay_episodes::delay_episode;
pub use delay_levels::delay_level_episodes;
pub use options::EchoSummaryOptions;
pub use outlier::{KernelAccount, OUTLIER_FACTOR, SlowRoundTrip, SlowestRoundTrips};
pub use record::{Departure, EchoRecord, EchoSeries, OneWayTransit, Reply, StampedRoundTrip};
pub use schedule::{DepartureProcess, departure_times};
