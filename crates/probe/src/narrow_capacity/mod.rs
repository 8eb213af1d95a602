//! The capacity of the narrow link from how packets that leave back to back arrive.

mod bucket_fit;
mod bulk;
mod cap_probe;
mod train;
mod train_arrival;

pub use bucket_fit::{TrainFit, TrainShape};
pub use bulk::bulk_packets;
pub use cap_probe::{PairCapacity, PairReading};
pub use train::{TrainsEstimate, estimate_trains};
pub use train_arrival::TrainArrival;
