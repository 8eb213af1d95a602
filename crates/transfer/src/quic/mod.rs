//! QUIC over a connected UDP socket, through quinn. The thread of the transfer runs quinn to the end; nothing asynchronous leaves this
//! folder.

mod connection;
mod counted_socket;
mod mover;
mod receiving;
mod sending;
mod settings;

pub(crate) use mover::{receive_quic, send_quic};
