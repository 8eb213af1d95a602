//! Datagrams of RBT as bytes (spec/rbt.md): little-endian, fixed offsets, each begins with a CRC-32C of everything that follows it.

mod ack;
mod data;
mod end;
mod frame;
mod hello;
#[cfg(test)]
mod vectors;

pub(crate) use ack::{Ack, MAX_ACK_RANGES, MAX_BITMAP_BYTES};
pub(crate) use data::{DataHeader, parse_data, write_data_header};
pub(crate) use end::{Fin, FinAck, FinAckState};
#[cfg(test)]
pub(crate) use frame::CONTROL_HEADER_BYTES;
pub(crate) use frame::{ControlKind, DATA_KIND, kind_of, parse_control, session_of, write_control};
pub use hello::VERSION;
pub(crate) use hello::{
    Accept, COOKIE_BYTES, Hello, HelloRefusal, MAX_TOKEN_BYTES, MIN_HELLO_BYTES, Retry,
};
