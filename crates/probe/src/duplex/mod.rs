//! Whether the links of a path are full duplex, from runs one way and both ways, and from what the interfaces of its ends report.
//!
//! On a matched half-duplex link both directions share the medium. Where one end is full duplex and the other half, traffic one way at a time
//! is not lost, and traffic both ways is: the full-duplex end does not defer, and every frame that it begins while the other end sends is a
//! collision to that end. Source: Shalunov and Carlson, "Detecting Duplex Mismatch on Ethernet", 2005.

mod counter_evidence;
mod decision;
mod end_link;
mod end_statement;
mod goodputs;
mod interfaces;
mod light_evidence;
mod mismatch;
mod readings;
mod shared_end;
mod statement;

pub use end_link::{EndLink, EndLinkState};
pub use end_statement::{CableEnd, EndLinkFinding, EndLinkStatement};
pub use readings::{DuplexReadings, EachWay, EndErrors, LightRuns, RunLoss, SaturatingRuns};
pub use statement::{DuplexFinding, DuplexStatement, LinkSide};
