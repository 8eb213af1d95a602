//! A test's own traffic captured, and offloads set for its time.

mod args;
mod findings;
mod observation;
mod own;

pub use args::{CaptureArgs, OffloadSwitch};
pub(crate) use observation::TestObservation;
pub use own::{OwnCaptureArgs, own_capture};
