//! A test's own traffic captured, and offloads set for its time.

mod args;
mod own;

pub use args::{CaptureArgs, OffloadSwitch};
pub use own::{OwnCaptureArgs, own_capture};
