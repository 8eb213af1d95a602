//! Shared media and their half-duplex stations: carrier sense, collision detection, backoff.

mod mac;
mod shared;
mod station;

pub use shared::Medium;
pub use station::{MediumSetup, StationSetup};
