//! The means by which the other modules talk to the kernel: results, socket options, messages with control data, memory.
//!
//! Structures that cross the boundary are laid out in byte arrays rather than cast, so that the call itself is the only
//! unsafe step.

mod address;
mod bytes;
mod control;
mod message;
mod pages;
mod result;
mod sockopt;

pub(crate) use address::{SockaddrBuffer, packet_destination};
pub(crate) use bytes::{timespec_ns, u16_at, u32_at, u64_at};
pub(crate) use control::ControlBuffer;
pub(crate) use message::{
    ReceivedMessage, empty_message, receive_with_control, send_with_control, send_with_controls,
};
pub(crate) use pages::Pages;
pub(crate) use result::{count, number};
pub(crate) use sockopt::{get_int, get_option, is_v6, set_int, set_option};
