//! Shared media and their half-duplex stations: carrier sense, collision detection, backoff.

mod event;
mod mac;
mod setup;
mod shared;
mod station;

pub use setup::{MediumSetup, StationSetup};
pub use shared::Medium;
