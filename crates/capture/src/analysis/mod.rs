//! From the bytes of files to what they tell.

mod capture;
mod flows;
mod frames;
mod ranking;
mod totals;

pub use capture::{CaptureAnalysis, CaptureReport};
