//! Captures of a test's own traffic, into a file of pcapng.

mod error;
mod recorder;
mod request;
mod test_capture;

pub use error::TestCaptureError;
pub use request::TestCaptureRequest;
pub use test_capture::{CapturedTraffic, TestCapture};
