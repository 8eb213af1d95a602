//! Sockets: opened, set up as a plan asks for, and queried for what the kernel granted.

mod connect;
mod data_connection;
mod data_socket;
mod granted;
mod listen;
mod reserved_listener;
mod retry;
mod segmentation;
mod settings;

pub(crate) use connect::{CONNECT_TIMEOUT, connect, connect_udp, connect_within};
pub(crate) use data_connection::data_connection;
pub(crate) use data_socket::DataSocket;
pub(crate) use granted::{canonical, granted_batched_udp, granted_tcp, granted_udp};
pub(crate) use listen::{listen_tcp_and_udp, reply_udp_socket};
pub(crate) use reserved_listener::{Accepted, ReservedListener};
pub(crate) use retry::{is_no_datagram, is_retryable};
pub(crate) use segmentation::segmentation;
pub(crate) use settings::{SocketSettings, UDP_BUFFER};
