//! Whether the links of a path are full duplex, from runs one way and both ways.
//!
//! On a matched half-duplex link both directions share the medium. Where one end is full duplex and the other half, traffic one way at a time
//! is not lost, and traffic both ways is: the full-duplex end does not defer, and every frame that it begins while the other end sends is a
//! collision to that end. Source: Shalunov and Carlson, "Detecting Duplex Mismatch on Ethernet", 2005.

mod decision;
mod readings;

pub use decision::{DuplexFinding, DuplexStatement};
pub use readings::{
    DuplexReadings, EachWay, EndErrors, LightRuns, LinkSide, RunLoss, SaturatingRuns,
};
