//! Sockets: opened, set up as a plan asks for, and queried for what the kernel granted.

mod canonical;
mod connect;
mod data_connection;
mod data_socket;
mod granted;
mod listen;
mod reserved_listener;
mod retry;
mod settings;

pub use canonical::canonical;
pub use connect::{
    CONNECT_TIMEOUT, begin_connect, connect, connect_announcing, connect_udp, connect_within,
    unconnected_tcp,
};
pub use data_connection::data_connection;
pub use data_socket::DataSocket;
pub use granted::{granted_batched_udp, granted_tcp, granted_udp, segmentation};
pub use listen::{ListeningSockets, listen_tcp_and_udp, reply_udp_socket};
pub use reserved_listener::{Accepted, ReservedListener, is_out_of_descriptors};
pub use retry::{is_no_datagram, is_retryable, is_too_large};
pub use settings::{SocketSettings, UDP_BUFFER};
