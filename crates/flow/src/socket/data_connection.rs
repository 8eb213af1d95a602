//! A data connection as the kernel describes it when it is open.

use super::canonical::canonical;
use super::data_socket::DataSocket;
use caudal_core::event::DataConnection;
use caudal_core::plan::PlannedFlow;
use caudal_core::sample::Role;
use caudal_sys::{buffers, tcp};
use std::net::SocketAddr;

/// One direction of the connection with this number, as the kernel describes its socket.
pub fn data_connection(
    flow: PlannedFlow,
    number: u32,
    role: Role,
    socket: &DataSocket,
    peer: SocketAddr,
) -> DataConnection {
    let info = socket.tcp().and_then(|stream| tcp::tcp_info(stream).ok());
    let info = info.as_ref();
    DataConnection {
        flow,
        number,
        role,
        transport: socket.transport(),
        local: socket.local_address().map_or(peer, canonical),
        peer,
        descriptor: socket.descriptor(),
        send_buffer_bytes: buffers::send_buffer(socket).unwrap_or(0),
        receive_buffer_bytes: buffers::receive_buffer(socket).unwrap_or(0),
        mss: info.map(|info| info.snd_mss),
        initial_window_bytes: info.map(|info| u64::from(info.snd_cwnd) * u64::from(info.snd_mss)),
        handshake_rtt_us: info.map(|info| info.rtt_us),
        connect_us: None,
    }
}
