//! A server of caudal.

mod answer;
mod client_channel;
pub(crate) mod control;
mod data_sockets;
mod dialogue;
mod greeting;
mod mtu_probing;
mod native;
mod other_server;
mod peer_watch;
mod server_episodes;
mod tcp_opening;
mod udp_opening;

pub use native::NativePeer;
