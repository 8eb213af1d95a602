//! The other end of a test, whatever protocol it speaks. caudal's own is here; those of other tools are in
//! `caudal-foreign`.

pub(crate) mod native;
mod peer;

pub use native::NativePeer;
pub use peer::{Peer, PeerInfo};
