//! nttcp: its servers as peers, its clients' transfers, and a server for its clients.
//!
//! A line asks over a control connection; a port of its own carries the data.

mod client;
mod control;
mod data_socket;
mod datagram_sender;
mod datagrams;
mod error;
mod listener;
mod nttcp;
mod peer_report;
mod server;
mod server_session;
mod server_state;
mod transfer;

pub use client::{NttcpClient, NttcpOutcome};
pub use nttcp::NttcpPeer;
pub use peer_report::request_of_peer;
pub use server::NttcpServer;
pub use server_state::NttcpOptions;
