//! The machine that an end of a test runs on, and what a test needs of it besides sockets and threads.
//!
//! Its description, the resources used during a test, the state of its links, the frames of a test as they pass an interface, and
//! offloads that are set for a test and restored after it.
#![forbid(unsafe_code)]

mod capture;
mod description;
mod drop_meter;
mod drop_recorder;
mod identity;
mod link_reading;
pub mod machine;
mod offload;

pub use capture::{CapturedTraffic, TestCapture, TestCaptureError, TestCaptureRequest};
pub use description::{UsageMeter, describe_host};
pub use identity::{StartedRun, TOOL, new_run_id, this_tool};
pub use link_reading::LinkReader;
pub use offload::{OffloadError, OffloadGuard, restore_offloads};
