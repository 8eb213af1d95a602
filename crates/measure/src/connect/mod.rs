//! Tests of the connection rate.

mod assemble;
mod request;
mod warnings;

pub use request::{ConnectRequest, is_of_this_host};
