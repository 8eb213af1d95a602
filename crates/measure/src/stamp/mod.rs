//! Tests with STAMP.

mod assemble;
mod request;

pub use request::{MeasuredStamp, StampRequest};
