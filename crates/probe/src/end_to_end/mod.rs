//! What two ends measure of the path between them: the capacity of the narrow link, shapers, the available bandwidth and the duplex mode.
//!
//! What carries trains is a [`TrainChannel`], so that everything here runs over simulated paths as well.

mod available;
mod bucket_kind;
mod capacity;
mod channel;
mod clock_skew;
mod duplex_runs;
mod narrow_reading;
mod readings;
mod report;
mod settings;
mod shaper;
mod trains;

pub use available::measure_available;
pub use capacity::EndToEndCapacity;
pub use channel::{EndReading, TrainChannel, TrainsReadings};
pub use duplex_runs::{DuplexEnd, DuplexMeasurement, measure_duplex};
pub use narrow_reading::CapacityMethod;
pub use settings::{EndToEndSettings, FRAMING_BYTES};
pub use shaper::ShaperReading;
