//! Logs of round-trip times: ping, fping, irtt.

mod fping;
mod irtt;
mod log;
mod ping;

pub use fping::{is_sign as is_fping, read as read_fping};
pub use irtt::from_object as irtt_from_object;
pub use log::RoundTripLog;
pub use ping::{is_sign as is_ping, read as read_ping};
