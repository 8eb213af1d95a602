//! Peers that keep to the format and to nothing else: no panic, no growth, an error with a type.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod event_script;
mod forged;
mod handshakes;
mod receiving;
mod scripts;
mod sending;
