//! The kernel behind safe functions.
//!
//! Every function here is one request to the kernel, in the kernel's own words and in bare integers. Where an older kernel
//! lacks a feature the result is `None`, where it forbids one an [`std::io::Error`]; nothing here panics because of the
//! machine it runs on. A call that a signal interrupts fails with [`std::io::ErrorKind::Interrupted`] unless its
//! documentation states that it continues to wait.
//!
//! `socket2` and `rustix` make the calls for which they have safe functions; those in `unsafe` blocks are the others.
#![expect(
    unsafe_code,
    reason = "this crate is the one home of system calls that no library wraps"
)]

pub mod affinity;
pub mod buffers;
pub mod clock;
pub mod directory;
pub mod host;
pub mod icmp;
pub mod icmp_echo;
pub mod icmp_quote;
pub mod interface;
pub mod memory;
pub mod namespace;
pub mod netlink;
pub mod options;
pub mod packet;
pub mod poll;
pub mod process;
mod raw;
pub mod schedule;
pub mod signal;
pub mod tap;
pub mod tcp;
pub mod terminal;
pub mod timestamps;
pub mod udp;
pub mod virtio;
