//! The capacity of the narrow link from how packets that leave back to back arrive.

mod bucket_fit;
mod cap_probe;
mod train;

pub use bucket_fit::{TrainArrival, TrainFit, TrainShape};
pub use cap_probe::{PairCapacity, PairReading, bulk_packets};
pub use train::{TrainsEstimate, estimate_trains};
