//! The kernel behind safe functions.
//!
//! Every function here is one question to the kernel or one order to it, in the kernel's own words and
//! in bare integers. What an older kernel lacks is answered with `None`, what it forbids with an
//! [`std::io::Error`]; nothing here panics over the machine it runs on. A call that a signal cut short
//! answers [`std::io::ErrorKind::Interrupted`] unless its description says that it goes on waiting.
#![allow(
    unsafe_code,
    reason = "this crate is the one home of system calls that no library wraps"
)]

pub mod affinity;
pub mod buffers;
pub mod clock;
pub mod host;
pub mod interface;
pub mod namespace;
pub mod netlink;
pub mod options;
pub mod packet;
mod raw;
pub mod schedule;
pub mod signal;
pub mod tap;
pub mod tcp;
pub mod terminal;
pub mod timestamps;
pub mod udp;
