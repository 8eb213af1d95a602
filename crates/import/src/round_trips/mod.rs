//! Logs of round-trip times: ping, fping, irtt.

mod fping;
mod irtt;
mod log;
mod ping;

pub use fping::{
    are_of_fping, from_objects as fping_from_objects, is_sign as is_fping, read as read_fping,
};
pub use irtt::from_object as irtt_from_object;
pub use log::RoundTripLog;
pub use ping::{is_sign as is_ping, read as read_ping};
