//! Several tests of one host, one after another.

mod families;
mod parts;
mod request;

pub use request::{CheckObserver, CheckRequest, MeasuredCheck, ProbedPathRequest};
