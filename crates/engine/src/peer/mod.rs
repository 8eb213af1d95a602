//! The other end of a test, whatever protocol it speaks. A peer is a folder here and a line in `list.rs`.

mod acknowledged;
pub mod iperf2;
pub mod iperf3;
mod list;
pub(crate) mod native;
pub mod nttcp;
mod path_mtu;
#[expect(
    clippy::module_inception,
    reason = "the file is named for its trait, Peer"
)]
mod peer;

pub use list::{connect, connect_any};
pub use native::NativePeer;
pub use peer::{Peer, PeerInfo};
