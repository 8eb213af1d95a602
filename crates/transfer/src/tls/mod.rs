//! TLS 1.3 over a connected TCP socket.

mod connection;
mod mover;

pub(crate) use mover::{receive_tls, send_tls};
