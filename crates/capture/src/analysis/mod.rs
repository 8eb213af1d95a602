//! From the bytes of files to what they show.

mod capture;
mod clock;
mod flows;
mod frames;
mod ranking;
mod totals;

pub use capture::{CaptureAnalysis, CaptureReport};
